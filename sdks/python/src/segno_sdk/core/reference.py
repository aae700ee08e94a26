"""References to functions of other modules, as `segno types` writes them."""

from typing import Protocol, TypeVar

In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)


class FunctionReference(Protocol[In_contra, Out_co]):
    """A function with the types of its input and its result, which are plain JSON."""

    @property
    def address(self) -> str:
        """The address of the function: `wasm://MODULE/FUNCTION`."""
        ...

    def segno_function(self, input: In_contra, /) -> Out_co:
        """Says the types to the type checker; nobody calls it."""
        ...
