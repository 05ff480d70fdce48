#include "headgate/base/testing/source_tree.h"

namespace headgate {

std::filesystem::path source_tree() { return HEADGATE_SOURCE_DIR; }

}  // namespace headgate
