// A value or an error: how every fallible function of the library answers.
#pragma once

#include <tl/expected.hpp>

namespace headgate {

template <class T, class E>
using Result = tl::expected<T, E>;

template <class E>
using Failure = tl::unexpected<E>;

}  // namespace headgate
