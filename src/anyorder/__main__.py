"""`python -m anyorder` is `anyorder`."""

from anyorder.cli import main

if __name__ == "__main__":
    main()
