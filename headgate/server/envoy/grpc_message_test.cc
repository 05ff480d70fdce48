#include "headgate/server/envoy/grpc_message.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headgate::server {
namespace {

// What a call with these pieces of input ends with: its status, or the message.
struct Ended {
  GrpcCode code;
  std::string body;
};

Ended read(const std::vector<std::string>& pieces) {
  Http2MemoryPool pool(0);
  Http2Memory memory(pool);
  GrpcMessage message(memory);
  for (const std::string& piece : pieces) {
    if (const GrpcStatus status = message.take(piece); !status.ok()) {
      EXPECT_FALSE(status.what.empty());
      return {status.code, {}};
    }
  }
  return {message.end().code, std::string(message.body())};
}

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

TEST(GrpcMessage, IsReadFromAnyPieces) {
  const std::string whole = bytes({0, 0, 0, 0, 3}) + "abc";
  for (std::size_t first = 0; first <= whole.size(); ++first) {
    const Ended ended = read({whole.substr(0, first), whole.substr(first)});
    EXPECT_EQ(ended.code, GrpcCode::ok) << first;
    EXPECT_EQ(ended.body, "abc");
  }
}

TEST(GrpcMessage, MayBeEmpty) { EXPECT_EQ(read({bytes({0, 0, 0, 0, 0})}).code, GrpcCode::ok); }

TEST(GrpcMessage, IsExactlyOne) {
  EXPECT_EQ(read({}).code, GrpcCode::unimplemented);
  EXPECT_EQ(read({""}).code, GrpcCode::unimplemented);
  EXPECT_EQ(read({bytes({0, 0, 0, 0, 0}), "x"}).code, GrpcCode::unimplemented);
  EXPECT_EQ(read({bytes({0, 0, 0, 0, 1, 7, 0})}).code, GrpcCode::unimplemented);
}

TEST(GrpcMessage, IsWhole) {
  EXPECT_EQ(read({bytes({0, 0, 0, 0})}).code, GrpcCode::internal);
  EXPECT_EQ(read({bytes({0, 0, 0, 0, 2, 7})}).code, GrpcCode::internal);
}

TEST(GrpcMessage, IsNotCompressed) {
  EXPECT_EQ(read({bytes({1, 0, 0, 0, 0})}).code, GrpcCode::internal);
}

TEST(GrpcMessage, IsRefusedByItsLengthAlone) {
  EXPECT_EQ(read({bytes({0, 0, 1, 0, 0})}).code, GrpcCode::internal) << "64 KiB, not whole";
  EXPECT_EQ(read({bytes({0, 0, 1, 0, 1})}).code, GrpcCode::resource_exhausted);
  EXPECT_EQ(read({bytes({0, 255, 255, 255, 255})}).code, GrpcCode::resource_exhausted);
}

TEST(GrpcStatus, IsWrittenAsPercentEncodedText) {
  EXPECT_EQ(percent_encoded("a b~"), "a b~");
  EXPECT_EQ(percent_encoded("50%\n\xc3\xa4\x7f"), "50%25%0A%C3%A4%7F");
}

}  // namespace
}  // namespace headgate::server
