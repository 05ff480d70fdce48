#include "headgate/server/http/foreign_page.h"

#include <gtest/gtest.h>

#include <string>

#include "headgate/server/http/parser.h"

namespace headgate::server {
namespace {

class Request {
 public:
  explicit Request(const std::string& fields, const std::string& line = "POST / HTTP/1.1")
      : text_(line + "\r\n" + fields + "\r\n") {
    parser_.parse(text_);
    EXPECT_NE(parser_.parse(text_), HttpParser::State::fault) << text_;
  }
  [[nodiscard]] const HttpRequest& operator*() const { return parser_.request(); }

 private:
  std::string text_;
  HttpParser parser_;
};

TEST(ForeignPageTest, ProgramsAndOwnPagesPass) {
  for (const char* const fields : {
           "Host: 127.0.0.1:8081\r\n",
           "Host: 127.1.2.3\r\n",
           "Host: [::1]:8081\r\n",
           "Host: [::1]\r\n",
           "Host: localhost:8081\r\n",
           "Host: LOCALHOST.\r\n",
           "Host: app.localhost:8081\r\n",
           "Host: headgate:8081\r\n",
           "Host: 127.0.0.1:8081\r\nOrigin: http://127.0.0.1:8081\r\n",
           "Host: localhost:8081\r\nOrigin: https://LocalHost:8081\r\n",
           "Host: localhost:8081\r\nSec-Fetch-Site: same-origin\r\n",
           "Host: localhost:8081\r\nSec-Fetch-Site: none\r\n",
       }) {
    EXPECT_EQ(fault_of_foreign_page(*Request(fields)), std::nullopt) << fields;
  }
  EXPECT_EQ(fault_of_foreign_page(*Request("", "GET / HTTP/1.0")), std::nullopt);
}

TEST(ForeignPageTest, ForeignPagesAndReboundNamesDoNot) {
  for (const char* const fields : {
           "Host: evil.example:8081\r\n",
           "Host: evil.example\r\n",
           "Host: evil.example.:8081\r\n",
           "Host: 127.0.0.1.evil.example:8081\r\n",
           "Host: localhost.evil.example:8081\r\n",
           "Host: evil-localhost.example\r\n",
           "Host: 192.0.2.1:8081\r\n",
           "Host: 0.0.0.0:8081\r\n",
           "Host: [2001:db8::1]:8081\r\n",
           "Host: 127.0.0.1:8081\r\nOrigin: http://evil.example\r\n",
           "Host: 127.0.0.1:8081\r\nOrigin: http://127.0.0.1:3000\r\n",
           "Host: 127.0.0.1:8081\r\nOrigin: null\r\n",
           "Host: 127.0.0.1:8081\r\nSec-Fetch-Site: cross-site\r\n",
           "Host: 127.0.0.1:8081\r\nSec-Fetch-Site: same-site\r\n",
       }) {
    EXPECT_NE(fault_of_foreign_page(*Request(fields)), std::nullopt) << fields;
  }
}

TEST(ForeignPageTest, OnlyAPersonMayFollowALinkFromElsewhere) {
  const std::string link =
      "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n"
      "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: ";
  EXPECT_EQ(fault_of_foreign_page(*Request(link + "document\r\n", "GET /metrics HTTP/1.1")),
            std::nullopt);
  EXPECT_NE(fault_of_foreign_page(*Request(link + "iframe\r\n", "GET /metrics HTTP/1.1")),
            std::nullopt);
  EXPECT_NE(fault_of_foreign_page(*Request(link + "document\r\n")), std::nullopt);
}

TEST(ForeignPageTest, AProxyMaySendWhatItsClientSent) {
  const std::string of_client =
      "Origin: https://elsewhere.example\r\nSec-Fetch-Site: cross-site\r\n";
  for (const std::string& fields : {
           "Host: api.example\r\nX-Forwarded-Uri: /\r\n" + of_client,
           "Host: api.example:8443\r\nX-Original-URI: /\r\n" + of_client,
           "Host: 127.0.0.1:8081\r\nX-Forwarded-For: 192.0.2.1\r\n" + of_client,
           std::string("Host: headgate\r\nX-Original-URI: /\r\n"),
           std::string("Host: 127.0.0.1:8081\r\n"),
       }) {
    EXPECT_EQ(fault_of_foreign_query(*Request(fields), 8081), std::nullopt) << fields;
  }
  for (const std::string& fields : {
           "Host: 127.0.0.1:8081\r\n" + of_client,
           std::string("Host: evil.example:8081\r\n"),
           std::string("Host: evil.example:8081\r\nX-Forwarded-For: 192.0.2.1\r\n"),
       }) {
    EXPECT_NE(fault_of_foreign_query(*Request(fields), 8081), std::nullopt) << fields;
  }
}

TEST(ForeignPageTest, BrowsersLeavePort80OutOfTheHost) {
  const std::string proxied = "X-Forwarded-For: 192.0.2.1\r\n";
  EXPECT_NE(fault_of_foreign_query(*Request("Host: evil.example\r\n" + proxied), 80), std::nullopt);
  EXPECT_NE(fault_of_foreign_query(*Request("Host: evil.example:80\r\n" + proxied), 80),
            std::nullopt);
  EXPECT_EQ(fault_of_foreign_query(*Request("Host: api.example:8080\r\n" + proxied), 80),
            std::nullopt);
  EXPECT_EQ(fault_of_foreign_query(*Request("Host: 127.0.0.1\r\n" + proxied), 80), std::nullopt);
}

// A query spends, though the page that made the browser send it does not get the answer.
TEST(ForeignPageTest, ALinkIsNoQuery) {
  const std::string line = "GET /auth HTTP/1.1";
  const std::string navigates =
      "Host: localhost\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
  for (const std::string& fields : {
           navigates + "Sec-Fetch-Site: cross-site\r\n",
           navigates + "Sec-Fetch-Site: same-site\r\n",
           // Of a page's speculation rules. It is said to come from nobody.
           navigates + "Sec-Fetch-Site: none\r\nSec-Purpose: prefetch\r\n",
           navigates + "Sec-Fetch-Site: none\r\nSec-Purpose: prefetch;prerender\r\n",
           // Browsers send no Sec-Fetch-Site to these.
           std::string("Host: ip6-localhost:8081\r\n"),
           std::string("Host: IP6-Loopback.\r\n"),
           std::string("Host: localhost4:8081\r\n"),
       }) {
    EXPECT_NE(fault_of_foreign_query(*Request(fields, line), 8081), std::nullopt) << fields;
    EXPECT_EQ(fault_of_foreign_page(*Request(fields, line)), std::nullopt) << fields;
    EXPECT_EQ(fault_of_foreign_query(*Request(fields + "X-Original-URI: /\r\n", line), 8081),
              std::nullopt)
        << fields;
  }
  for (const char* const fields :
       {"Host: localhost\r\nSec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n",
        "Host: localhost\r\nSec-Fetch-Site: same-origin\r\n", "Host: headgate\r\n"}) {
    EXPECT_EQ(fault_of_foreign_query(*Request(fields, line), 8081), std::nullopt) << fields;
  }
}

}  // namespace
}  // namespace headgate::server
