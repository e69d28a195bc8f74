/// File URIs exchanged between desktop programs.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "app/platform/file_uri.hpp"

namespace attn::app::test {
namespace {

using namespace std::string_view_literals;

TEST(FileUri, IsDecodedByteForByte) {
    EXPECT_EQ(path_of_uri("file:///"), "/");
    EXPECT_EQ(path_of_uri("file:///a%20b/c"), "/a b/c");
    EXPECT_EQ(path_of_uri("file://localhost/a"), "/a");
    EXPECT_EQ(path_of_uri("file:///%E2%82%AC/%ff%Fe"), "/\xE2\x82\xAC/\xFF\xFE");
    EXPECT_EQ(path_of_uri("file:///\xC3\xBC"), "/\xC3\xBC") << "bytes that should have been escaped";
    EXPECT_EQ(path_of_uri("file:///100%25"), "/100%");
    EXPECT_EQ(path_of_uri("file:///a%2520"), "/a%20") << "once, not twice";
    EXPECT_EQ(path_of_uri("file:///a+b?c#d"), "/a+b?c#d");
}

TEST(FileUri, OthersAreNoPathHere) {
    for (const std::string_view uri :
         {""sv, "/a"sv, "file:a"sv, "file://"sv, "file://other/a"sv, "file://localhost"sv, "http://localhost/a"sv, "file:///%"sv,
          "file:///%2"sv, "file:///%2g"sv, "file:///%+1"sv, "file:///%00"sv, "file:///a\0b"sv})
        EXPECT_FALSE(path_of_uri(uri)) << uri;
}

TEST(FileUri, EveryByteComesThrough) {
    for (int byte = 1; byte < 256; ++byte) {
        const std::string expected = "/" + std::string(1, static_cast<char>(byte));
        EXPECT_EQ(path_of_uri(fmt::format("file:///%{:02x}", byte)), expected);
        EXPECT_EQ(path_of_uri(fmt::format("file:///%{:02X}", byte)), expected);
    }
}

}  // namespace
}  // namespace attn::app::test
