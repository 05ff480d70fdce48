#include "headgate/policy/match/registered_domain.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace headgate::policy {
namespace {

TEST(RegisteredDomain, Table) {
  struct Case {
    std::string_view host;
    std::string_view domain;
  };
  const std::string long_name = std::string(250, 'a') + ".example";
  const Case cases[] = {{"www.example.com", "example.com"},
                        {"EXAMPLE.com", "example.com"},
                        {"a.b.example.co.uk.", "example.co.uk"},
                        {"www.example.kawasaki.jp", "www.example.kawasaki.jp"},
                        {"co.uk", "co.uk"},
                        {"localhost", "localhost"},
                        {"10.0.0.1", "10.0.0.1"},
                        {"2001:db8::1", "2001:db8::1"},
                        {"::1", "::1"},
                        {"www.example.com:8080", "example.com"},
                        {"www.example.com.:", "example.com"},
                        {"localhost:80", "localhost"},
                        {"www.example.com:8o", "www.example.com:8o"},
                        {"", ""},
                        {".", ""},
                        {"a..example.com", "a..example.com"},
                        {".example.com", ".example.com"},
                        {"Not A Host", "not a host"},
                        {"b\xc3\xbc"
                         "cher.example.com",
                         "b\xc3\xbc"
                         "cher.example.com"},
                        {"xn--bcher-kva.example.com", "example.com"},
                        {long_name, long_name}};
  for (const Case& c : cases) {
    std::string out = "before";
    append_registered_domain(c.host, out);
    EXPECT_EQ(out, "before" + std::string(c.domain)) << c.host;
  }
}

}  // namespace
}  // namespace headgate::policy
