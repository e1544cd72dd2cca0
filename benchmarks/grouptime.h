#pragma once

/* How long a product takes on the host: groups of products back to back, as many as the budget allows */
#include <algorithm>
#include <vector>

/*
  The median of the groups, in microseconds. group(n) makes n products and gives the seconds that each took; if several processes
  take part, it gives all of them the same number.
*/
template <class Group>
static double GroupTime(double budget, const Group &group)
{
  std::vector<double> t;
  double              once = 1e30;

  for (int k = 0; k < 3; k++) once = std::min(once, group(1));
  const int per = (int)std::min(50.0, std::max(1.0, 1e-3 / once)), groups = (int)std::min(21.0, std::max(5.0, budget / (once * per)));
  for (int g = 0; g < groups; g++) t.push_back(group(per));
  std::nth_element(t.begin(), t.begin() + t.size() / 2, t.end());
  return 1e6 * t[t.size() / 2];
}
