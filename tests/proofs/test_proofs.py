"""The quick part of `./dev prove`, and that it finds faults: in the protocol, and in the law."""
import subprocess

import pytest

from support.environment import ROOT

PROVE = ROOT / 'proofs/prove'
# The promise that each fault in the protocol breaks, by a word of the assertion in claims.pml.
VARIANTS = {
    'NO_SECOND_SEARCH': 'tag_word[0]==tag_word[1]',
    'CONFIRMED_IS_OVERLOOKED': 'tag_word[0]==tag_word[1]',
    'NO_NONCE': 'tag_word[0]==tag_word[1]',
    'EVICT_LIVE': 'granted<=',
    'CLEARS_BLINDLY': 'granted<=',
    'STALE_SEGMENTS': 'tag_word[0]==tag_word[1]',
    'CLAIM_IS_NO_BARRIER': 'tag_word[0]==tag_word[1]',
    'CHARGE_IS_NO_BARRIER': 'granted<=',
}
QUICK = ('narrow make', 'narrow charge', 'narrow tightness', 'narrow denial', 'narrow never', 'narrow earlier',
         'narrow admits', 'narrow clock', 'narrow fast path', 'narrow refund', 'narrow debit', 'wide make',
         'wide never', 'wide admits', 'wide clock')
# Changes of headgate/limit/linear.h, and the claim that each one breaks.
MUTATIONS = {
    'a window more': ('if (next <= full) return', 'if (next <= full + 1) return', 'narrow charge'),
    'a wait too short': ('return tat + static_cast<Ticks>(units) * interval_ - at - window_;',
                         'return tat + static_cast<Ticks>(units) * interval_ - at - window_ - 1;',
                         'narrow denial'),
    'a unit too many in r': ('return static_cast<std::uint64_t>(credit) / static_cast<std::uint64_t>(interval_);',
                             'return static_cast<std::uint64_t>(credit) / static_cast<std::uint64_t>(interval_) + 1;',
                             'narrow soundness'),
    'r from a tick less': ('const Ticks credit = at + window_ - tat;',
                           'const Ticks credit = at + window_ - tat - 1;', 'narrow tightness'),
    't without the pace': ('reset = std::max(reset, static_cast<Ticks>(remaining) * interval_);',
                           '{}', 'narrow progress'),
    'time that goes back': ('if (ns > latest_) ns = latest_;', 'if (ns > latest_) ns = 0;',
                            'narrow clock'),
    'debts without bound': ('if (next > most) next = most;', '', 'narrow debit'),
    'a window that is too long': (
        'if (interval > longest / static_cast<Nanos>(quota.units)) return std::nullopt;', '',
        'narrow make'),
}


def prove(*arguments):
    return subprocess.run([PROVE, *arguments], text=True, capture_output=True, check=False)


def test_the_protocol_of_the_table_holds_in_every_order():
    result = prove('table', '--quick')
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize('variant', VARIANTS)
def test_a_fault_in_the_protocol_is_found(variant):
    result = prove('table', '--variant', variant)
    assert result.returncode == 1, result.stdout + result.stderr
    assert VARIANTS[variant] in result.stdout.replace('(', '').replace(')', '')


def test_a_reader_of_statistics_sees_no_half_of_a_halving():
    assert prove('statistics').returncode == 0


def test_a_halving_without_release_order_is_found():
    result = prove('statistics', '--variant', 'RELAXED_HALVING')
    assert result.returncode == 1, result.stdout + result.stderr
    assert 'count_seen==error_seen' in result.stdout


def test_the_law_keeps_its_promises_for_all_values():
    """The claims that take seconds; `./dev prove` makes all."""
    result = prove('linear', *QUICK)
    assert result.returncode == 0, result.stdout + result.stderr
    assert 'NOT PROVED' not in result.stdout


@pytest.mark.parametrize('mutation', MUTATIONS)
def test_a_fault_in_the_law_is_found(mutation, tmp_path):
    right, wrong, broken = MUTATIONS[mutation]
    law = (ROOT / 'headgate/limit/linear.h').read_text()
    assert law.count(right) == 1
    mutant = tmp_path / 'linear.h'
    mutant.write_text(law.replace(right, wrong))
    result = prove('linear', broken, '--law', str(mutant))
    assert result.returncode == 1, result.stdout + result.stderr
    assert ': not true' in result.stdout
