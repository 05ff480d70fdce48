"""The quick part of what `./dev prove` proves of shared memory, and that it finds faults there."""
import pytest

# The promise that each fault in the protocol breaks, by a word of the assertion in claims.pml.
VARIANTS = {
    'NO_SECOND_SEARCH': 'tag_word[0]==tag_word[1]',
    'CONFIRMED_IS_OVERLOOKED': 'tag_word[0]==tag_word[1]',
    'NO_NONCE': 'tag_word[0]==tag_word[1]',
    'EVICT_LIVE': 'granted<=',
    'CLEARS_BLINDLY': 'granted<=',
    'STALE_SEGMENTS': 'tag_word[0]==tag_word[1]',
    'FORGETS_THE_SKETCH': 'granted<=',
    'NO_THIRD_SEARCH': 'granted<=',
    'CLAIM_IS_NO_BARRIER': 'tag_word[0]==tag_word[1]',
    'CHARGE_IS_NO_BARRIER': 'granted<=',
}


def test_the_protocol_of_the_table_holds_in_every_order(prove):
    result = prove('table', '--quick')
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize('variant', VARIANTS)
def test_a_fault_in_the_protocol_is_found(prove, variant):
    result = prove('table', '--variant', variant)
    assert result.returncode == 1, result.stdout + result.stderr
    assert VARIANTS[variant] in result.stdout.replace('(', '').replace(')', '')


def test_a_reader_of_statistics_sees_no_half_of_a_halving(prove):
    assert prove('statistics').returncode == 0


def test_a_halving_without_release_order_is_found(prove):
    result = prove('statistics', '--variant', 'RELAXED_HALVING')
    assert result.returncode == 1, result.stdout + result.stderr
    assert 'count_seen==error_seen' in result.stdout
