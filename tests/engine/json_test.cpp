#include "engine/io/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/io/file_error.hpp"

namespace attn {
namespace {

using Library = nlohmann::ordered_json;

/// The same value in our type and in the library's.
struct Both {
    Json ours;
    Library theirs;
};

Both random_value(std::mt19937& random, int depth) {
    const auto below = [&](unsigned n) { return random() % n; };
    switch (below(depth > 0 ? 9 : 7)) {
    case 0:
        return {nullptr, nullptr};
    case 1:
        return {true, true};
    case 2:
        return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::min()};
    case 3:
        return {~std::uint64_t{0} - below(3), nullptr};  // set below
    case 4: {
        const double number = std::ldexp(static_cast<double>(random()) - 2e9, static_cast<int>(below(200)) - 100);
        return {number, number};
    }
    case 5: {
        const std::string text = "a \"text\" with \\, \n, é, \xF0\x9F\x98\x80 and \x01";
        return {text, text};
    }
    case 6:
        return {"", ""};
    case 7: {
        Both list{Json::list(), Library::array()};
        for (unsigned i = below(4); i > 0; --i) {
            Both item = random_value(random, depth - 1);
            if (item.ours.is_unsigned()) item.theirs = item.ours.as_unsigned();
            list.ours.push_back(item.ours);
            list.theirs.push_back(item.theirs);
        }
        return list;
    }
    default: {
        Both object{Json::object(), Library::object()};
        for (unsigned i = below(4); i > 0; --i) {
            const std::string key = "key \"" + std::to_string(i) + "\"";
            Both item = random_value(random, depth - 1);
            if (item.ours.is_unsigned()) item.theirs = item.ours.as_unsigned();
            object.ours[key] = item.ours;
            object.theirs[key] = item.theirs;
        }
        return object;
    }
    }
}

TEST(JsonValues, AreWrittenAndReadAsTheLibraryDoes) {
    std::mt19937 random(1);
    for (int i = 0; i < 500; ++i) {
        Both value = random_value(random, 4);
        if (value.ours.is_unsigned()) value.theirs = value.ours.as_unsigned();
        EXPECT_EQ(value.ours.dump(), value.theirs.dump());
        EXPECT_EQ(value.ours.dump(2), value.theirs.dump(2));
        EXPECT_EQ(Json::parse(value.ours.dump(2), "x").dump(), value.theirs.dump());
        const Json copy = value.ours;
        EXPECT_EQ(copy.dump(), value.ours.dump());
    }
}

TEST(JsonValues, BracesMakeObjectsOfPairsAndListsOfAllElse) {
    const std::string name = "b";
    EXPECT_EQ((Json{{"a", 1}, {name, {{"c", 2.5}}}}).dump(), R"({"a":1,"b":{"c":2.5}})");
    EXPECT_EQ((Json{{"a", {1, 2}}, {"b", {"x"}}, {"c", nullptr}, {"d", false}}).dump(), R"({"a":[1,2],"b":["x"],"c":null,"d":false})");
    EXPECT_EQ((Json{{1, 2}, {3, 4}}).dump(), "[[1,2],[3,4]]");
    EXPECT_EQ(Json(std::vector<std::string>{"a", "b"}).dump(), R"(["a","b"])");
    EXPECT_EQ(Json(std::map<std::string, std::string>{{"k", "v"}}).dump(), R"({"k":"v"})");
    EXPECT_EQ(Json::list().dump() + Json::object().dump() + Json().dump(), "[]{}null");
}

TEST(JsonValues, MembersKeepTheirOrder) {
    Json object;
    object["z"] = 1;
    object["a"] = 2;
    object["z"] = 3;
    EXPECT_EQ(object.dump(), R"({"z":3,"a":2})");
    EXPECT_EQ(object.find("a")->as_signed(), 2);
    EXPECT_EQ(object.find("b"), nullptr);
}

TEST(JsonValues, WhatJsonCannotHold) {
    EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
    EXPECT_EQ(Json(std::nan("")).dump(), "null");
    EXPECT_THROW(Json("\xFF").dump(), Error);
    EXPECT_THROW((Json{{"\xFF", 1}}).dump(), Error);
    EXPECT_EQ(Json("\xFF").dump(-1, Json::InvalidUtf8::Replace), "\"\xEF\xBF\xBD\"");
}

TEST(JsonValues, RefusesWhatIsNotOneValue) {
    for (const char* text : {"", " ", "{", "[1,]", "{}x", "{\"a\"}", "nul", "01", "'a'", "\"\xFF\"", "{\"a\":1,\"a\":2}", "1e400",
                             "[[{\"a\":{\"b\":1,\"b\":1}}]]"})
        EXPECT_THROW(Json::parse(text, "x"), FileError) << text;
    EXPECT_EQ(Json::parse(" [1, {\"a\": {}}] ", "x").dump(), R"([1,{"a":{}}])");
}

}  // namespace
}  // namespace attn
