// Found in place of headgate/limit/answer.h when the law is compiled for its proof, which does not
// use it.
#pragma once

#include "headgate/limit/coarse.h"
