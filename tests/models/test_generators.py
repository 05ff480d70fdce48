"""The vectors in tests/vectors are what their generators write."""
import pytest

from models import generate_field_vectors, generate_limiter_vectors

BY_HAND = {'structured.json'}


@pytest.mark.parametrize('generator', [generate_limiter_vectors, generate_field_vectors])
def test_vectors_are_generated(generator):
    there = {file.name for file in generator.FOLDER.glob('*.json')} - BY_HAND
    assert there == set(generator.FILES)
    for name, text in generator.FILES.items():
        # Compared outside the assertion: pytest's explanation of two long texts takes minutes.
        same = (generator.FOLDER / name).read_text(encoding='utf-8') == text
        assert same, f'{name} is not what `python3 -m {generator.__name__}` writes'
