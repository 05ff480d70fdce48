// The mailbox of this worker, watched by nginx's event loop.
#pragma once

#include "headgate/nginx/conf.h"
#include "headgate/store/mailbox.h"

namespace headgate::nginx {

// To be called when a worker starts: opens the mailbox if the store needs one, while clients have
// not taken all connections and descriptors yet. Logs if it cannot.
void open_mailbox(const MainConf& conf) noexcept;

// Opens it if it is not open yet. Takes one of nginx's connections. nullptr: no memory, descriptor
// or connection is left.
// REQUIRES: a worker, or nginx without a master. Workers would share one that the master opens.
[[nodiscard]] store::Mailbox* mailbox() noexcept;

}  // namespace headgate::nginx
