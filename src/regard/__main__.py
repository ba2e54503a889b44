"""`python -m regard` is the `regard` program."""

from regard.cli import main

if __name__ == "__main__":
    main()
