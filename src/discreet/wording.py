"""Words for people that fit the numbers in them."""


def counted(number: int, thing: str) -> str:
    """A number of things, in words that fit it.

    >>> counted(1, "document"), counted(2000, "word")
    ('1 document', '2,000 words')
    """
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def megabytes(count: int) -> str:
    """A number of bytes.

    >>> megabytes(3 * 2**20)
    '3.0 MB'
    """
    return f"{count / 2**20:,.1f} MB"
