"""A hardmax transformer as a classifier of texts: words gather around leaders, and the mean of all decides."""
