// Reads what a policy file says about Redis, and the files that it names.
#pragma once

#include <string>

#include "headgate/base/result.h"
#include "headgate/policy/settings.h"
#include "headgate/redis/login.h"
#include "headgate/redis/options.h"

namespace headgate::redis {

// Reads the password and the certificates. The error is a sentence that names the file.
[[nodiscard]] Result<Login, std::string> login_of(const policy::RedisSettings& settings);

// Reads them, too. Error as login_of().
[[nodiscard]] Result<Options, std::string> options_of(const policy::RedisSettings& settings);

}  // namespace headgate::redis
