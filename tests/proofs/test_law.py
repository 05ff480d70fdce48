"""What `./dev prove` proves of the linear law, and that it finds faults in it."""
import pytest

from support.environment import ROOT

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
    'a delay that is too long': ('if (ahead_ > 0 && next <= full + ahead_) {',
                                 'if (ahead_ > 0 && next <= full + ahead_ + 1) {', 'narrow delay'),
    'a window that is too long': (
        'if (interval > longest / static_cast<Nanos>(quota.units)) return std::nullopt;', '',
        'narrow make'),
}


def test_the_law_keeps_its_promises_for_all_values(prove):
    result = prove('linear')
    assert result.returncode == 0, result.stdout + result.stderr
    assert 'NOT PROVED' not in result.stdout


@pytest.mark.parametrize('mutation', MUTATIONS)
def test_a_fault_in_the_law_is_found(prove, mutation, tmp_path):
    right, wrong, broken = MUTATIONS[mutation]
    law = (ROOT / 'headgate/limit/linear.h').read_text()
    assert law.count(right) == 1
    mutant = tmp_path / 'linear.h'
    mutant.write_text(law.replace(right, wrong))
    result = prove('linear', broken, '--law', str(mutant))
    assert result.returncode == 1, result.stdout + result.stderr
    assert ': not true' in result.stdout
