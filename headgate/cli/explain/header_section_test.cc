#include "headgate/cli/explain/header_section.h"

#include <gtest/gtest.h>

#include <sstream>

namespace headgate::cli {
namespace {

// "HTTP/1.1 200 OK|a=1|b=2", or the fault.
std::string read(const std::string& input) {
  std::istringstream in(input);
  const auto section = read_header_section(in);
  if (!section) return section.error();
  std::string out = section->status_line;
  for (const auto& [name, value] : section->lines) out += '|' + name + '=' + value;
  return out;
}

TEST(HeaderSection, LinesEndInLfOrCrLfAndValuesAreTrimmed) {
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nA: 1\r\nb:\t2 \r\n\r\nC: 3\r\n"), "HTTP/1.1 200 OK|A=1|b=2");
  EXPECT_EQ(read("HTTP/2 429 \na: 1\nb:2\n"), "HTTP/2 429 |a=1|b=2");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\n"), "HTTP/1.1 200 OK");
  EXPECT_EQ(read("a: 1"), "|a=1");
  EXPECT_EQ(read("a:\r\n\r\n"), "|a=");
}

TEST(HeaderSection, AFoldedLineIsAFault) {
  constexpr const char* why =
      "a field on several lines, which clients and proxies refuse; expected each field on one line";
  for (const char* fold : {"\t 2", " 2", " b: 2", " ", "\t"}) {
    EXPECT_EQ(read(std::string("a: 1,\r\n") + fold + "\r\n\r\n"), std::string("line 2: ") + why);
  }
  EXPECT_EQ(read("  HTTP/1.1 200 OK\n  a: 1\n"),
            "line 1: indented, as wget -S prints it; expected what curl -si does");
}

TEST(HeaderSection, TheLastOfSeveralSectionsCounts) {
  const std::string input =
      "HTTP/1.1 200 Connection established\r\n\r\n"
      "HTTP/1.1 100 Continue\r\nx: 0\r\n\r\n"
      "HTTP/1.1 302 Found\r\nlocation: /\r\n\r\n"
      "HTTP/2 429\r\nretry-after: 5\r\n\r\n";
  EXPECT_EQ(read(input), "HTTP/2 429|retry-after=5");
  std::istringstream in(input + "HTTP is a protocol");
  EXPECT_EQ(read_header_section(in)->before, 3u);
  std::istringstream same(input + "HTTP/2 is a protocol\n");
  const auto section = read_header_section(same);
  EXPECT_EQ(section->before, 3u);
  EXPECT_EQ(section->status, 429);
}

TEST(HeaderSection, ReadsNoMoreOfABodyThanItMust) {
  std::istringstream in("a: 1\n\n{\"x\": 1}");
  ASSERT_TRUE(read_header_section(in).has_value());
  EXPECT_EQ(in.tellg(), 7);
}

TEST(HeaderSection, FaultsNameTheLine) {
  EXPECT_EQ(read(""),
            "the input is empty; expected a response's header section, as curl -si "
            "prints it");
  EXPECT_EQ(read("\r\n\r\n"),
            "the input starts with an empty line; expected a response's header "
            "section, as curl -si prints it");
  EXPECT_EQ(read("<html>\n"),
            "line 1: expected a status line (HTTP/1.1 200 OK) or a field (Name: value)");
  EXPECT_EQ(read("HTTP/1.1 200 OK\na: 1\n{\"b\": 2}\n"),
            "line 3: expected a field (Name: value), or an empty line before the body");
  EXPECT_EQ(read("a: 1\nb : 2\n"),
            "line 2: expected no space between a field's name and its colon");
  EXPECT_EQ(read("* Trying\n"), "line 1: this is what curl -v prints; expected what curl -si does");
  EXPECT_EQ(read("HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\nx\n").substr(0, 7), "line 4:");
  for (const char* status : {"HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/x 200", "HTTP/1.1  200"}) {
    EXPECT_TRUE(read(status).starts_with("line 1: ")) << status;
  }
}

TEST(HeaderSection, IsBounded) {
  EXPECT_EQ(read(std::string(header_bytes_max + 100, 'a')),
            "the header section is longer than 1048576 bytes");
  std::string many;
  while (many.size() <= header_bytes_max) many += "a: 1\n";
  EXPECT_EQ(read(many), "the header section is longer than 1048576 bytes");
}

}  // namespace
}  // namespace headgate::cli
