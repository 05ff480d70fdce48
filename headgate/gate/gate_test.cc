#include "headgate/gate/gate.h"

#include <gtest/gtest.h>
