// Counts the basic blocks executed in code compiled with -fsanitize-coverage=trace-pc. This file
// must be compiled without it.
#include "headgate/field/testing/steps.h"

namespace {
std::size_t count = 0;
}  // namespace

extern "C" void __sanitizer_cov_trace_pc() { ++count; }

namespace headgate::field {

std::size_t steps() noexcept { return count; }

}  // namespace headgate::field
