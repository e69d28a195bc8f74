/// The desktop's file dialog over a private bus: portals that answer, refuse, stay silent, disappear or lie.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "app/platform/file_portal.hpp"
#include "app/platform/portal_call.hpp"
#include "tests/desktop/fake_portal.hpp"
#include "tests/desktop/private_bus.hpp"

namespace attn::app::test {
namespace {

using attn::test::FakePortal;
using attn::test::FakePortalWays;
using attn::test::PrivateBus;
using Outcome = DesktopAnswer::Outcome;
using What = DesktopQuestion::What;
using namespace std::chrono_literals;

constexpr auto kShort = 300ms;

bool comes_true(const std::function<bool()>& what) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (!what() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
    return what();
}

DesktopQuestion question(What what = What::OpenFile) { return {.what = what, .title = "Open", .accept = "Take", .folder = "", .name = ""}; }

class FilePortalTest : public ::testing::Test {
protected:
    DesktopAnswer ask(FakePortalWays ways, const DesktopQuestion& asked = question()) {
        portal.emplace(bus.address(), std::move(ways));
        return ask_portal({bus.address(), [this] { return given_up(); }, kShort}, asked);
    }
    PrivateBus bus;
    std::optional<FakePortal> portal;
    std::function<bool()> given_up = [] { return false; };
};

TEST_F(FilePortalTest, TheChosenPathComesByteForByte) {
    const DesktopAnswer answer = ask({.uris = {"file:///data/a%20b/%C3%BCber%25.json", "file:///second"}});
    EXPECT_EQ(answer.outcome, Outcome::Chosen) << answer.problem;
    EXPECT_EQ(answer.path, "/data/a b/\xC3\xBC"
                           "ber%.json");
}

TEST_F(FilePortalTest, AnAnswerBeforeTheCallReturnsAndFromAnotherPlaceCounts) {
    const DesktopAnswer answer =
        ask({.responds_first = true, .uris = {"file:///x"}, .request = "/org/freedesktop/portal/desktop/request/7"});
    EXPECT_EQ(answer.outcome, Outcome::Chosen) << answer.problem;
    EXPECT_EQ(answer.path, "/x");
}

TEST_F(FilePortalTest, AnAnswerOfSomebodyElseDoesNot) {
    const DesktopAnswer answer = ask({.forged = true, .uris = {"file:///chosen"}});
    EXPECT_EQ(answer.path, "/chosen");
}

TEST_F(FilePortalTest, CancellingIsNoFailure) {
    EXPECT_EQ(ask({.code = 1}).outcome, Outcome::Cancelled);
    portal.reset();
    EXPECT_EQ(ask({.code = 2}).outcome, Outcome::Failed) << "it ended in some other way";
}

TEST_F(FilePortalTest, WhatIsAskedArrives) {
    DesktopQuestion asked = question();
    asked.folder = "/home/m\xFC/";  // not valid UTF-8
    asked.filters = {{"All files", {"*"}}, {"Texts", {"*.txt", "*.md"}}};
    asked.filter = 1;
    ask({.code = 1}, asked);
    const std::vector<FakePortal::Asked> all = portal->asked();
    ASSERT_EQ(all.size(), 1U);
    const auto& options = all[0].options;
    EXPECT_EQ(all[0].method, "OpenFile");
    EXPECT_EQ(all[0].title, "Open");
    EXPECT_EQ(options.at("accept_label"), "Take");
    EXPECT_EQ(options.at("current_folder"), "/home/m\xFC/\\0");
    EXPECT_EQ(options.at("filters"), "((All files ((0 *))) (Texts ((0 *.txt) (0 *.md))))");
    EXPECT_EQ(options.at("current_filter"), "(Texts ((0 *.txt) (0 *.md)))");
    EXPECT_FALSE(options.contains("directory"));
    EXPECT_FALSE(options.contains("current_name"));
}

TEST_F(FilePortalTest, FoldersAndFilesToBeSavedAreAskedForAsSuch) {
    ask({.code = 1}, question(What::OpenFolder));
    EXPECT_EQ(portal->asked().at(0).options.at("directory"), "true");
    portal.reset();
    DesktopQuestion asked = question(What::SaveFile);
    asked.name = "run.safetensors";
    ask({.code = 1}, asked);
    EXPECT_EQ(portal->asked().at(0).method, "SaveFile");
    EXPECT_EQ(portal->asked().at(0).options.at("current_name"), "run.safetensors");
    portal.reset();
    asked.name = "\xFF.json";
    EXPECT_EQ(ask({.code = 1}, asked).outcome, Outcome::Cancelled) << "a name that is no UTF-8 can be no suggestion";
}

TEST_F(FilePortalTest, OnesThatCannotAnswerSayWhy) {
    EXPECT_EQ(ask_portal({bus.address(), given_up, kShort}, question()).outcome, Outcome::Failed) << "nobody is there";
    EXPECT_EQ(ask_portal({"unix:path=/nowhere/bus", given_up, kShort}, question()).outcome, Outcome::Failed) << "there is no bus";
    EXPECT_THAT(ask({.answers_calls = false}).problem, "it does not answer");
    portal.reset();
    EXPECT_THAT(ask({.refuses = true}).problem, "Portals are not for you");
    portal.reset();
    EXPECT_THAT(ask({.responds = false, .vanishes = true}).problem, "it has quit");
    portal.reset();
    EXPECT_THAT(ask({}).problem, "its answer names no file");
    portal.reset();
    EXPECT_THAT(ask({.uris = {"https://example.org/a"}}).problem, "what it names is not a file on this machine");
}

TEST_F(FilePortalTest, ADialogThatIsGivenUpIsClosed) {
    portal.emplace(bus.address(), FakePortalWays{.responds = false});
    // By then the call has returned; otherwise there would be no dialog to close.
    int looks = 0;
    const auto later = [&] { return !portal->asked().empty() && ++looks > 20; };
    EXPECT_EQ(ask_portal({bus.address(), later, 60s}, question()).outcome, Outcome::Cancelled);
    EXPECT_TRUE(comes_true([this] { return portal->closed() == 1; }));
}

TEST_F(FilePortalTest, WhetherThereIsOneIsFound) {
    const auto version = [this] { return portal_version({bus.address(), given_up, kShort}); };
    EXPECT_EQ(version(), 0U);
    portal.emplace(bus.address(), FakePortalWays{});
    EXPECT_EQ(version(), 3U);
    portal.reset();
    portal.emplace(bus.address(), FakePortalWays{.has_dialogs = false});
    EXPECT_EQ(version(), 0U) << "a portal without file dialogs";
    portal.reset();
    portal.emplace(bus.address(), FakePortalWays{.answers_calls = false});
    EXPECT_EQ(version(), 0U) << "a silent one";
}

TEST_F(FilePortalTest, AsksBesideTheWindowAndWakesIt) {
    portal.emplace(bus.address(), FakePortalWays{.uris = {"file:///a"}});
    std::atomic<int> woken{0};
    FilePortal dialogs([&woken] { ++woken; }, bus.address());
    EXPECT_TRUE(comes_true([&] { return dialogs.is_there() && woken > 0; }));
    woken = 0;
    dialogs.ask(question());
    EXPECT_TRUE(comes_true([&] { return woken > 0; }));
    const std::optional<DesktopAnswer> answer = dialogs.take_answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->path, "/a");
    EXPECT_FALSE(dialogs.take_answer()) << "once";
}

TEST_F(FilePortalTest, TheNextQuestionTakesThePlaceOfTheLastAndLeavingDoesNotWait) {
    portal.emplace(bus.address(), FakePortalWays{.responds = false});
    {
        FilePortal dialogs([] {}, bus.address(), 1h);
        dialogs.ask(question());
        EXPECT_TRUE(comes_true([this] { return portal->asked().size() == 1; }));
        dialogs.ask(question(What::SaveFile));
        EXPECT_TRUE(comes_true([this] { return portal->asked().size() == 2; }));
        EXPECT_EQ(portal->asked()[1].method, "SaveFile");
        dialogs.give_up();
        EXPECT_FALSE(dialogs.take_answer());
    }
    portal.reset();
    portal.emplace(bus.address(), FakePortalWays{.answers_calls = false});
    FilePortal silent([] {}, bus.address(), 1h);
    EXPECT_FALSE(silent.is_there());
    // Its patience of an hour ends here.
}

TEST(FilePortal, WithoutABusThereIsNone) {
    FilePortal dialogs([] {}, "");
    EXPECT_FALSE(dialogs.is_there());
    dialogs.ask(question());
    EXPECT_FALSE(dialogs.take_answer());
}

}  // namespace
}  // namespace attn::app::test
