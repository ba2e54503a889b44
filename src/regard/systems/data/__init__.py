"""Tasks to learn, made from a seed, one file each."""
