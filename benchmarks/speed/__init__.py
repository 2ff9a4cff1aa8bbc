"""Speed benchmarks: training and translation beside other libraries, and checks of quality."""
