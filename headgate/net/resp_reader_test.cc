// The reader returns the same commands however the stream is cut, and refuses hostile streams
// early.

#include "headgate/net/resp_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/testing/allocations.h"

namespace headgate::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Found = RespReader::Found;
using Command = std::vector<std::string>;

struct ReadStream {
  std::vector<Command> commands;
  std::string fault;
  std::size_t kept_most = 0;  // the most bytes that were kept for the next read()

  friend bool operator==(const ReadStream& a, const ReadStream& b) {
    return a.commands == b.commands && a.fault == b.fault;
  }
};

std::ostream& operator<<(std::ostream& out, const ReadStream& read) {
  return out << testing::PrintToString(read.commands) << ' ' << read.fault;
}

// Reads a stream that arrives in these chunks. The reader is given an exact-size copy of the bytes
// received, so that AddressSanitizer reports a read of any other byte.
ReadStream read_chunks(const std::vector<std::string_view>& chunks, const RespLimits& limits = {}) {
  RespWords words;
  RespReader reader(words, limits);
  ReadStream read;
  std::string kept;
  for (const std::string_view chunk : chunks) {
    kept += chunk;
    const auto copy = std::make_unique<char[]>(kept.size());
    std::copy(kept.begin(), kept.end(), copy.get());
    std::string_view bytes(copy.get(), kept.size());
    for (;;) {
      const Found found = reader.read(bytes);
      if (found == Found::fault) {
        read.fault = reader.fault();
        return read;
      }
      if (found == Found::command) {
        read.commands.emplace_back(reader.arguments().begin(), reader.arguments().end());
      }
      bytes.remove_prefix(reader.used());
      if (found == Found::more) break;
    }
    kept = bytes;
    read.kept_most = std::max(read.kept_most, kept.size());
  }
  return read;
}

ReadStream read_whole(std::string_view stream, const RespLimits& limits = {}) {
  return read_chunks({stream}, limits);
}

ReadStream read_byte_by_byte(std::string_view stream, const RespLimits& limits = {}) {
  std::vector<std::string_view> chunks;
  for (std::size_t i = 0; i < stream.size(); ++i) chunks.push_back(stream.substr(i, 1));
  return read_chunks(chunks, limits);
}

std::string as_array(const Command& command) {
  std::string text = '*' + std::to_string(command.size()) + "\r\n";
  for (const std::string& argument : command) {
    text += '$' + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
  }
  return text;
}

std::string as_inline(const Command& command) {
  std::string text;
  for (const std::string& argument : command) {
    text += " \"";
    for (const char c : argument) {
      constexpr char hex[] = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      if (byte > ' ' && byte < 127 && c != '"' && c != '\\') {
        text += c;
      } else {
        text += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
      }
    }
    text += '"';
  }
  return text + "\r\n";
}

std::vector<std::string_view> cut(std::string_view stream) {
  std::vector<std::string_view> chunks;
  while (!stream.empty()) {
    const auto size =
        *rc::gen::inRange<std::size_t>(1, std::min<std::size_t>(stream.size(), 40) + 1);
    chunks.push_back(stream.substr(0, size));
    stream.remove_prefix(size);
  }
  return chunks;
}

TEST(RespReader, ReadsEveryCommandHoweverTheStreamIsCut) {
  EXPECT_TRUE(rc::check([] {
    const auto argument = rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    const auto commands =
        *rc::gen::scale(0.3, rc::gen::container<std::vector<Command>>(
                                 rc::gen::nonEmpty(rc::gen::container<Command>(argument))));
    std::string stream;
    for (const Command& command : commands) {
      stream += *rc::gen::arbitrary<bool>() ? as_array(command) : as_inline(command);
      if (*rc::gen::inRange(0, 4) == 0) {
        stream += *rc::gen::element("*0\r\n", "*-1\r\n", "\r\n", " \n");
      }
    }
    const ReadStream read = read_chunks(cut(stream));
    RC_ASSERT(read.fault == "");
    RC_ASSERT(read.commands == commands);
  }));
}

TEST(RespReader, ReadsTheSameHoweverAnyStreamIsCut) {
  EXPECT_TRUE(rc::check([] {
    const auto piece = rc::gen::element<std::string>(
        "*", "$", ":", "\r\n", "\r", "\n", "0", "1", "2", "3", "-", "a", "\"", "'", "\\", " ",
        "*2\r\n$1\r\na\r\n:7\r\n", "*1\r\n$4\r\nPING\r\n", "PING\r\n", std::string(1, '\0'), "99");
    std::string stream;
    for (const std::string& p : *rc::gen::container<std::vector<std::string>>(piece)) stream += p;
    const RespLimits limits{4, 32};
    const ReadStream whole = read_whole(stream, limits);
    RC_ASSERT(read_chunks(cut(stream), limits) == whole);
    RC_ASSERT(read_byte_by_byte(stream, limits) == whole);
    RC_ASSERT(whole.kept_most <= 2 * limits.command_max);
  }));
}

TEST(RespReader, TakesIntegersInsideArrays) {
  const ReadStream read = read_byte_by_byte("*3\r\n$3\r\nfoo\r\n:-42\r\n:7\r\n*1\r\n$1\r\nx\r\n");
  EXPECT_THAT(read.commands, ElementsAre(Command{"foo", "-42", "7"}, Command{"x"}));
}

TEST(RespReader, SplitsInlineCommandsAsRedisDoes) {
  const auto arguments = [](std::string_view line) { return read_whole(line).commands; };
  EXPECT_THAT(arguments("PING\n"), ElementsAre(Command{"PING"}));
  EXPECT_THAT(arguments("  set\t k  v \r\n"), ElementsAre(Command{"set", "k", "v"}));
  EXPECT_THAT(arguments("echo \"a b\\n\\x41\\\"\" 'c\\'d \\n'\r\n"),
              ElementsAre(Command{"echo", "a b\nA\"", "c'd \\n"}));
  EXPECT_THAT(arguments("echo \"\" ''\r\n"), ElementsAre(Command{"echo", "", ""}));
  EXPECT_THAT(arguments("echo \"\\xzz\\x4\"\r\n"), ElementsAre(Command{"echo", "xzzx4"}));
  EXPECT_THAT(arguments("\r\n \r\n"), IsEmpty());
}

TEST(RespReader, SaysWhatIsWrong) {
  const auto fault = [](std::string_view stream) {
    const ReadStream read = read_whole(stream);
    EXPECT_EQ(read_byte_by_byte(stream), read);
    EXPECT_THAT(read.commands, IsEmpty());
    return read.fault;
  };
  EXPECT_EQ(fault("*x\r\n"), "Protocol error: invalid multibulk length");
  EXPECT_EQ(fault("*\r\n"), "Protocol error: invalid multibulk length");
  EXPECT_EQ(fault("*1025\r\n"), "Protocol error: invalid multibulk length");
  EXPECT_EQ(fault("*99999999999999999999\r\n"), "Protocol error: invalid multibulk length");
  EXPECT_EQ(fault("*1\rX"), "Protocol error: invalid multibulk length");
  EXPECT_EQ(fault("*1\r\n*1\r\n$1\r\na\r\n"), "Protocol error: expected '$', got '*'");
  EXPECT_EQ(fault("*1\r\n\x01"), "Protocol error: expected '$', got '?'");
  EXPECT_EQ(fault("*1\r\n$-1\r\n"), "Protocol error: invalid bulk length");
  EXPECT_EQ(fault("*1\r\n$1073741824\r\n"), "Protocol error: invalid bulk length");
  EXPECT_EQ(fault("*1\r\n:a\r\n"), "Protocol error: invalid integer");
  EXPECT_THAT(fault("*1\r\n$1\r\nab\r\n"), HasSubstr("line end behind a bulk string"));
  EXPECT_EQ(fault("echo \"a\r\n"), "Protocol error: unbalanced quotes in request");
  EXPECT_EQ(fault("echo \"a\"b\r\n"), "Protocol error: unbalanced quotes in request");
  EXPECT_EQ(fault("echo 'a\\'\r\n"), "Protocol error: unbalanced quotes in request");
}

// Browsers send handshakes of TLS and messages of STUN to any port, and pages choose some of their
// bytes.
TEST(RespReader, RefusesOtherProtocolsBeforeTheirFirstLineEnds) {
  const std::string tls("\x16\x03\x01\x02\0\r\nPING\r\n", 13);
  const std::string stun("\0\x03\0\x08\r\nPING\r\n", 12);
  for (const std::string& stream : {tls, stun}) {
    for (const std::string& before : {std::string(), std::string("\r\n")}) {
      const ReadStream read = read_whole(before + stream);
      EXPECT_EQ(read.fault, "Protocol error: expected '*' or a word");
      EXPECT_THAT(read.commands, IsEmpty());
      EXPECT_EQ(read_byte_by_byte(before + stream), read);
      EXPECT_EQ(read_whole(before + stream.substr(0, 1)), read);
    }
  }
  EXPECT_EQ(read_whole("\t\v\f PING\r\n").commands.size(), 1U);
}

TEST(RespReader, KeepsNoMoreThanACommandMayHave) {
  const RespLimits limits{4, 100};
  EXPECT_EQ(read_byte_by_byte(std::string(1000, 'a'), limits).fault,
            "Protocol error: too big inline request");
  EXPECT_EQ(read_byte_by_byte(std::string(99, 'a') + "\n", limits).commands.size(), 1u);
  EXPECT_EQ(read_whole("a b c d e\n", limits).fault,
            "Protocol error: too many arguments in inline request");
  // The maximum holds for all arguments of a command together.
  const std::string half(50, 'x');
  EXPECT_EQ(read_whole(as_array({half, half}), limits).fault,
            "Protocol error: invalid bulk length");
  EXPECT_EQ(read_whole(as_array({half}), limits).commands.size(), 1u);
}

TEST(RespReader, RefusesALongStringWithoutWaitingForIt) {
  EXPECT_EQ(read_whole("*2\r\n$4\r\nECHO\r\n$1073741824\r\n").fault,
            "Protocol error: invalid bulk length");
}

// Otherwise many clients that send one long command each would take much memory.
TEST(RespReader, KeepsNothingOfALongCommand) {
  RespWords words;
  const Command many(1000, "x");
  const std::string long_one = "ECHO " + std::string(60'000, 'x') + "\r\n";
  std::vector<RespReader> readers(3, RespReader(words));
  for (RespReader& reader : readers) {
    for (const std::string& stream : {long_one, as_inline(many), as_array(many)}) {
      const std::size_t before = allocated_bytes();
      ASSERT_EQ(reader.read(stream), Found::command);
      if (&reader != readers.data() && stream == long_one) {
        EXPECT_LT(allocated_bytes() - before, 1000U) << "readers share the text";
      } else {
        EXPECT_GT(allocated_bytes() - before, 8000U) << "its elements were released";
      }
      ASSERT_EQ(reader.read(""), Found::more);
    }
  }
}

TEST(RespReader, AllocatesNothingOnceItIsWarm) {
  const std::string stream = as_array({"CL.THROTTLE", "user123", "15", "30", "60"}) +
                             as_inline({"CL.THROTTLE", "user123", "15", "30", "60"});
  RespWords words;
  RespReader reader(words);
  const auto read_all = [&] {
    std::string_view bytes = stream;
    for (int commands = 0; commands < 2; ++commands) {
      ASSERT_EQ(reader.read(bytes), Found::command);
      bytes.remove_prefix(reader.used());
    }
    ASSERT_EQ(reader.read(bytes), Found::more);
  };
  read_all();
  const std::size_t before = allocations();
  for (int i = 0; i < 100; ++i) read_all();
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace headgate::net
