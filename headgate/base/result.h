// A value or an error: what every function of the library returns that can fail.
#pragma once

#include <tl/expected.hpp>

namespace headgate {

template <class T, class E>
using Result = tl::expected<T, E>;

template <class E>
using Failure = tl::unexpected<E>;

}  // namespace headgate
