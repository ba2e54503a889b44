"""Many points in the plane: only those on the border of their hull can be chosen, and a border is found by sorting."""
