// The ids of Boulder's limits: which are refused, and which count as the same.
#include "headgate/policy/boulder/name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace headgate::policy {
namespace {

using testing::HasSubstr;

const BoulderName& name_of(std::string_view name) {
  for (const BoulderName& known : boulder_names()) {
    if (known.name == name) return known;
  }
  throw std::runtime_error("no such limit");
}

struct Case {
  std::string_view limit;
  std::string_view id;
  std::string_view complaint;  // a part of it; empty: the id is good
};

constexpr std::string_view per_address = "NewRegistrationsPerIPAddress";
constexpr std::string_view per_range = "NewRegistrationsPerIPv6Range";
constexpr std::string_view per_account = "NewOrdersPerAccount";
constexpr std::string_view per_failure = "FailedAuthorizationsPerDomainPerAccount";
constexpr std::string_view per_domain = "CertificatesPerDomain";
constexpr std::string_view per_set = "CertificatesPerFQDNSet";

TEST(BoulderName, IdsOfOverrides) {
  constexpr Case cases[] = {
      {per_address, "64.112.117.1", ""},
      {per_address, "2602:80a:6000::42:42", ""},
      {"LimitOverrideRequestsPerIPAddress", "64.112.117.1", ""},
      {per_address, "10.0.0.2", "reserved"},
      {per_address, "127.0.0.1", "reserved"},
      {per_address, "224.0.0.1", "reserved"},
      {per_address, "::ffff:64.112.117.1", "canonical form; expected 64.112.117.1"},
      {per_address, "::1", "reserved"},
      {per_address, "2602:080a:6000::42", "not in canonical form; expected 2602:80a:6000::42"},
      {per_address, "2001:0db8:0000:0000:0000:ff00:0042:8329", "reserved"},
      {per_address, "10.0.0.9000", "not an IP address"},
      {per_address, "64.112.117.1/32", "not an IP address"},
      {per_address, " ", "not an IP address"},
      {per_address, "", "empty"},
      {per_range, "2602:80a:6000::/48", ""},
      {per_range, "2602:080a:6000::/48", "not in canonical form; expected 2602:80a:6000::/48"},
      {per_range, "2602:80a:6000::1/48", "not in canonical form"},
      {per_range, "2001:db8::/48", "reserved"},
      {per_range, "2602:80a:6000::/128", "not a /48"},
      {per_range, "2602:80a:6000::/48/48", "not a /48"},
      {per_range, "2602:80a:6000::", "not an IPv6 range"},
      {per_range, "10.0.0.0/16", "not an IPv6 range"},
      {per_account, "1234567890", ""},
      {per_account, "18446744073709551615", ""},
      {per_account, "18446744073709551616", "not a registration id"},
      {per_account, "lol", "not a registration id"},
      {per_account, "-1", "not a registration id"},
      {per_failure, "12345", ""},
      {per_failure, "12ea5", "not a registration id"},
      {per_failure, "12345:example.com", ""},
      {per_failure, "12345:64.112.117.1", ""},
      {per_failure, "12ea5:example.com", "not a registration id"},
      {per_failure, "12345:", "empty"},
      {per_failure, "12345:10.0.0.1", "reserved"},
      {per_failure, "12345:6:example.com", "not a domain"},
      {per_account, "12345:example.com", "not a registration id"},
      {"CertificatesPerDomainPerAccount", "12345", ""},
      {"FailedAuthorizationsForPausingPerDomainPerAccount", "12345", ""},
      {per_domain, "example.com", ""},
      {per_domain, "example.co.uk", ""},
      {per_domain, "xn--bcher-kva.example.com", ""},
      {per_domain, "64.112.117.1", ""},
      {per_domain, "2602:80a:6000::", ""},
      {per_domain, "2602:80a:6000::1", "lowest address of its /64"},
      {per_domain, "2602:80a:6000::/64", "not a domain"},
      {per_domain, "www.example.com", ""},
      {per_domain, "*.example.com", ""},
      {per_domain, "co.uk", "public suffix"},
      {per_domain, "com", "no dot"},
      {per_domain, "example:.com", "not a domain"},
      {per_domain, "example..com", "not a domain"},
      {per_domain, "-example.com", "not a domain"},
      {per_domain, "ex--ample.com", "'--'"},
      {per_domain, "example.com.", "not a domain"},
      {per_domain, "example.no-such-suffix", "no public suffix"},
      {per_domain, "a.b.c.d.e.f.g.h.i.example.com", "too long"},
      {per_set, "example.com", ""},
      {per_set, "*.example.com,example.com", ""},
      {per_set, "example.com,example.org", ""},
      {per_set, "2602:80a:6000::1,64.112.117.1,example.com,www.example.org", ""},
      {per_set, "example.com,", "member '' that is empty"},
      {per_set, "*.com", "no dot"},
      {per_set, "*.co.uk", "public suffix"},
      {per_set, "example.com,10.0.0.1", "member '10.0.0.1' that is reserved"}};
  for (const Case& c : cases) {
    const std::string complaint = name_of(c.limit).complaint(c.id);
    if (c.complaint.empty()) {
      EXPECT_EQ(complaint, "") << c.limit << " " << c.id;
    } else {
      EXPECT_THAT(complaint, HasSubstr(std::string(c.complaint))) << c.limit << " " << c.id;
    }
  }
}

TEST(BoulderName, SomeIdsAreNeverApplied) {
  constexpr Case cases[] = {
      {per_domain, "ecdsa.le.wtf", "counts by registered domains; expected le.wtf"},
      {per_domain, "WWW.Example.co.uk", "expected example.co.uk"},
      {per_domain, "*.example.com", "expected example.com"},
      {per_failure, "12345:example.com", "by the registration id alone; expected 12345"},
      {"CertificatesPerDomainPerAccount", "12345:example.com", "expected 12345"},
      {per_domain, "le.wtf", ""},
      {per_domain, "Example.com", ""},
      {per_domain, "64.112.117.1", ""},
      {per_failure, "12345", ""},
      {per_account, "12345", ""},
      {per_set, "ecdsa.le.wtf", ""}};
  for (const Case& c : cases) {
    EXPECT_EQ(name_of(c.limit).complaint(c.id), "") << c.limit << " " << c.id;
    const std::string unused = name_of(c.limit).unused(c.id);
    if (c.complaint.empty()) {
      EXPECT_EQ(unused, "") << c.limit << " " << c.id;
    } else {
      EXPECT_THAT(unused, HasSubstr(std::string(c.complaint))) << c.limit << " " << c.id;
    }
  }
}

TEST(BoulderName, EverySpellingIsTheSameBucket) {
  constexpr struct {
    std::string_view limit;
    std::string_view given;
    std::string_view normal;
    std::string_view override_id;
  } cases[] = {{per_address, "2001:0DB8:0:0::1", "2001:db8::1", "2001:db8::1"},
               {per_address, "not an address", "not an address", "not an address"},
               {per_address, "::ffff:64.112.117.1", "64.112.117.1", "64.112.117.1"},
               {per_address, "64.112.117.1:443", "64.112.117.1", "64.112.117.1"},
               {per_address, "[2001:db8:0::1]:443", "2001:db8::1", "2001:db8::1"},
               {per_address, "[64.112.117.1]", "64.112.117.1", "64.112.117.1"},
               {per_address, "[64.112.117.1]:443", "64.112.117.1", "64.112.117.1"},
               {per_address, "[::ffff:64.112.117.1]:443", "64.112.117.1", "64.112.117.1"},
               {per_range, "[2602:80a:6000::1]:443", "2602:80a:6000::/48", "2602:80a:6000::/48"},
               {per_range, "2602:80a:6000:1:2::3", "2602:80a:6000::/48", "2602:80a:6000::/48"},
               {per_range, "2602:80a:6000::/48", "2602:80a:6000::/48", "2602:80a:6000::/48"},
               {per_range, "64.112.117.1", "64.112.117.1", "64.112.117.1"},
               {per_account, "007", "7", "7"},
               {per_failure, "7:WWW.Example.com", "7:www.example.com", "7"},
               {per_failure, "7:www.example.com.", "7:www.example.com", "7"},
               {per_failure, "7:[2001:db8::1]", "7:2001:db8::1", "7"},
               {per_failure, "7:2001:0db8::1", "7:2001:db8::1", "7"},
               {"CertificatesPerDomainPerAccount", "7:*.www.example.com", "7:example.com", "7"},
               {per_domain, "*.www.example.co.uk", "example.co.uk", "example.co.uk"},
               {per_domain, "64.112.117.1", "64.112.117.1/32", "64.112.117.1/32"},
               {per_domain, "example.com.", "example.com", "example.com"},
               {per_domain, "64.112.117.1:443", "64.112.117.1/32", "64.112.117.1/32"},
               {per_domain, "[64.112.117.1]:443", "64.112.117.1/32", "64.112.117.1/32"},
               {per_domain, "[2602:80a:6000::42]", "2602:80a:6000::/64", "2602:80a:6000::/64"},
               {per_domain, "64.112.117.1/32", "64.112.117.1/32", "64.112.117.1/32"},
               {per_domain, "2602:80a:6000::42", "2602:80a:6000::/64", "2602:80a:6000::/64"},
               {per_domain, "2602:80a:6000::/64", "2602:80a:6000::/64", "2602:80a:6000::/64"},
               {per_failure, "7:[64.112.117.1]", "7:64.112.117.1", "7"},
               {per_set, "[2602:80a:6000::1],B.example.,b.example", "b.example,2602:80a:6000::1",
                "b.example,2602:80a:6000::1"},
               {per_set, "b.example,64.112.117.1,A.example,b.example",
                "a.example,b.example,64.112.117.1", "a.example,b.example,64.112.117.1"}};
  for (const auto& c : cases) {
    const BoulderName& name = name_of(c.limit);
    std::string normal = "before ";
    name.append_normal(c.given, normal);
    EXPECT_EQ(normal, "before " + std::string(c.normal)) << c.given;
    EXPECT_EQ(name.override_of(c.normal), c.override_id) << c.given;
    std::string again;
    name.append_normal(c.normal, again);
    EXPECT_EQ(again, c.normal);
  }
}

RC_GTEST_PROP(BoulderName, AnyIdHasOneNormalForm, ()) {
  const BoulderName& name =
      boulder_names()[*rc::gen::inRange<std::size_t>(0, boulder_names().size())];
  const auto id =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("019aAfz:./,*-[] x\xc3")));
  static_cast<void>(name.complaint(id));
  std::string once;
  std::string twice;
  name.append_normal(id, once);
  name.append_normal(once, twice);
  RC_ASSERT(once == twice);
}

}  // namespace
}  // namespace headgate::policy
