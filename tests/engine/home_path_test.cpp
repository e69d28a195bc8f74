#include "engine/io/home_path.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

namespace attn {
namespace {

TEST(HomePath, IsWhatTheTildeStandsFor) {
    const char* before = std::getenv("HOME");
    const std::optional<std::string> kept = before == nullptr ? std::nullopt : std::optional<std::string>(before);
    ::setenv("HOME", "/home/me", 1);
    EXPECT_EQ(without_tilde("~"), "/home/me");
    EXPECT_EQ(without_tilde("~/"), "/home/me/");
    EXPECT_EQ(without_tilde("~/a/b.txt"), "/home/me/a/b.txt");
    for (const char* other : {"", "a~/b", "/a/~/b", "~someone/b", "./~", "-"}) EXPECT_EQ(without_tilde(other), other);
    ::unsetenv("HOME");
    EXPECT_EQ(without_tilde("~/a"), "~/a");
    if (kept) ::setenv("HOME", kept->c_str(), 1);
}

}  // namespace
}  // namespace attn
