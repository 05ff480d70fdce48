// The mailbox of this worker, watched by nginx's event loop.
#pragma once

#include "headgate/store/mailbox.h"

namespace headgate::nginx {

// Opens it with the first call, since workers would share one that the master has opened. Takes one
// of nginx's connections. nullptr: no memory, descriptor or connection is left.
[[nodiscard]] store::Mailbox* mailbox() noexcept;

}  // namespace headgate::nginx
