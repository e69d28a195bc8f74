/// What an address asks for, as far as it needs no browser.

#include "app/web/page_link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/application.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app::test {
namespace {

using testing::ElementsAre;

TEST(PageLink, HasTheNamesOfTheCommandLine) {
    EXPECT_THAT(arguments_of_link(""), ElementsAre());
    EXPECT_THAT(arguments_of_link("?"), ElementsAre());
    EXPECT_THAT(arguments_of_link("?preset=copy&text=a+b%20c&text=%C3%BC"),
                ElementsAre("--preset=copy", "--text=a b c", "--text=\xC3\xBC"));
    EXPECT_THAT(arguments_of_link("gradients&&view=heads"), ElementsAre("--gradients", "--view=heads")) << "a flag has no value";
    EXPECT_THAT(arguments_of_link("text=1=1"), ElementsAre("--text=1=1"));
    EXPECT_THAT(arguments_of_link("text=%zz%4"), ElementsAre("--text=%zz%4")) << "no escapes";
}

TEST(PageLink, ThatIsEmptyAsksForNothing) {
    const PageLink link = read_link("");
    EXPECT_FALSE(link.start.document.given());
    EXPECT_EQ(link.start.lesson, nullptr);
    EXPECT_FALSE(link.looks());
    EXPECT_FALSE(read_link("theme=light").looks()) << "that is a setting";
}

TEST(PageLink, OpensAStepOfALesson) {
    const std::string name = lessons().front()->name;
    const PageLink link = read_link("lesson=" + name + "&step=2");
    ASSERT_NE(link.start.lesson, nullptr);
    EXPECT_EQ(link.start.lesson->name, name);
    EXPECT_EQ(link.start.lesson_step, 1U);
    EXPECT_THROW(read_link("lesson=" + name + "&step=1000"), Error);
    EXPECT_THROW(read_link("lesson=no-such-lesson"), std::exception);
    EXPECT_THROW(read_link("step=2"), ArgumentError) << "of no lesson";
}

TEST(PageLink, LooksWhereItSays) {
    PageLink link = read_link("preset=causal-attention&text=a+b+c&view=step&stage=scores&head=1&cell=2,0");
    Application application(first_document(link.start, Settings()).document, [] {});
    look_there(link, application);
    EXPECT_EQ(application.session().document().texts, std::vector<std::string>{"a b c"});
    EXPECT_EQ(application.view().view, View::Step);
    EXPECT_EQ(application.view().stage.stage, Stage::Scores);
    EXPECT_EQ(application.view().head, 1);
    EXPECT_EQ(application.view().locked.on(Axis::T), 2);
    EXPECT_EQ(application.view().locked.on(Axis::S), 0);
}

TEST(PageLink, SaysWhatDoesNotExist) {
    EXPECT_THROW(read_link("colour=red"), ArgumentError);
    EXPECT_THROW(read_link("view=nothing"), ArgumentError);
    EXPECT_THROW(read_link("cell=2"), ArgumentError);
    PageLink link = read_link("preset=causal-attention&text=a+b+c&cell=2,3");
    Application application(first_document(link.start, Settings()).document, [] {});
    EXPECT_THROW(look_there(link, application), Error);
}

}  // namespace
}  // namespace attn::app::test
