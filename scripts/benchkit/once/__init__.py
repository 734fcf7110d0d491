"""The parts of the experiment of that name.

origin   pages behind a proxy: the same again and again, or no two alike
cost     what a response costs, with what was encoded before and without
crowd    many clients on one new page
churn    more bodies than the cache holds; the best that could be done
improve  what idle CPU time makes smaller
"""
