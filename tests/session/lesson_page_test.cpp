/// A lesson as a page: every step with its picture, numbers and question; nothing from outside, and nothing unescaped.

#include "app/session/lesson_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "app/session/lessons/lesson_check.hpp"
#include "app/session/page_figure.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

using testing::HasSubstr;

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++count;
    return count;
}

/// The first tag that is not closed by its own; "" if all are.
std::string unclosed_tag(const std::string& page) {
    static const std::regex kTag("<(/?)([a-z0-9]+)([^<>]*)>");
    static const std::set<std::string> kAlone = {"meta", "input", "rect", "line", "path", "polyline"};
    std::vector<std::string> open;
    for (std::sregex_iterator tag(page.begin(), page.end(), kTag), end; tag != end; ++tag) {
        const std::string name = (*tag)[2];
        if (kAlone.contains(name)) continue;
        if ((*tag)[1] == "") open.push_back(name);
        else if (open.empty() || open.back() != name) return name;
        else open.pop_back();
    }
    return open.empty() ? "" : open.back();
}

TEST(LessonPage, HasEveryStepOfEveryKind) {
    for (const char* name : {"masks", "many-heads", "find-the-name", "follow-the-name", "how-translation-aligns", "dropout"}) {
        const auto lesson = find_lesson(name);
        const std::string page = lesson_page(*lesson);
        std::size_t questions = 0;
        for (const LessonStep& step : lesson->steps) questions += step.question ? 1 : 0;
        EXPECT_EQ(count_of(page, "<section class=\"step\">"), lesson->steps.size()) << name;
        EXPECT_EQ(count_of(page, "<div class=\"ask\">"), questions) << name;
        EXPECT_EQ(count_of(page, "<p><strong>"), questions) << name << ": every question has its answer";
        EXPECT_GE(count_of(page, "<figure>"), lesson->steps.size()) << name << ": every step has a picture";
        EXPECT_EQ(page.find("…</b>"), std::string::npos) << name << ": every quoted number is there";
        EXPECT_EQ(unclosed_tag(page), "") << name;
        for (const char* outside : {"http:", "https:", "<script", " src=", "@import", "url(http"})
            EXPECT_EQ(page.find(outside), std::string::npos) << name << " reaches outside: " << outside;
    }
}

TEST(LessonPage, TrainsWhatTheLessonTrains) {
    const Lesson lesson =
        read_lesson(R"({"name": "t", "title": "T", "steps": [{"title": "Run", "caption": "After {step} steps: {loss}.", "view": "train",
        "training": {"task": "repeat", "settings": {"batch_size": 4}, "until": {"steps": 3}}, "stage": "weights"}]})",
                    "own");
    const std::string page = lesson_page(lesson);
    EXPECT_THAT(page, HasSubstr("After <b class=\"q\">3</b> steps"));
    EXPECT_THAT(page, HasSubstr("<polyline points=\""));
}

/// The page of a lesson with these steps.
std::string page_of(const std::string& steps) {
    return lesson_page(read_lesson(R"({"name": "t", "title": "T", "steps": [)" + steps + "]}", "own"));
}

std::string page_refusal(const std::string& steps) {
    try {
        page_of(steps);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(LessonPage, EachComparedStateHasItsOwnGradients) {
    const std::string page = page_of(R"({"caption": "x", "preset": "causal-attention", "stage": "weights", "gradients": true,
        "compare": "unmasked"})");
    const std::size_t begin = page.find("<title>B − A");
    ASSERT_NE(begin, std::string::npos);
    const std::string change = page.substr(begin, page.find("</svg>", begin) - begin);
    EXPECT_GT(count_of(change, "fill=\"#"), count_of(change, "fill=\"#ffffff\"")) << "without its mask, it has others";
}

TEST(LessonPage, WhatIsPinnedIsRefused) {
    EXPECT_THAT(page_refusal(R"({"caption": "x", "preset": "causal-attention", "stage": "weights", "compare": "pinned"})"),
                HasSubstr("cannot show what is pinned"));
}

TEST(LessonPage, HeadsOfEncoderAndDecoderAreToldApart) {
    const std::string grid =
        page_of(R"({"caption": "x", "preset": "encoder-decoder", "view": "grid", "stage": "encoder.layers.0.attention.weights"})");
    for (const char* place : {"encoder weights", "decoder weights", "decoder cross weights"})
        EXPECT_THAT(grid, HasSubstr(std::string("<figcaption>") + place + ", layer 0, head 0<"));
    const std::string heads =
        page_of(R"({"caption": "x", "preset": "encoder-decoder", "view": "heads", "stage": "decoder.layers.0.cross_attention.weights"})");
    EXPECT_EQ(count_of(heads, "<figure>"), 4U) << "those of one attention";
    EXPECT_THAT(heads, HasSubstr("decoder cross weights, layer 0, head 3"));
}

TEST(LessonPage, KnockOutSaysWhatItsColoursMean) {
    const std::string step = R"({"caption": "x", "preset": "gpt-tiny", "view": "knock-out", "stage": "weights", "measure": )";
    EXPECT_THAT(page_of(step + R"("loss"})"), HasSubstr("Orange: it rises without the part, which helps."));
    EXPECT_THAT(page_of(step + R"("probability"})"), HasSubstr("Orange: it falls without the part, which helps."));
}

TEST(LessonPage, SaysThatARunEndedBeforeTheMoment) {
    EXPECT_THAT(page_of(R"({"caption": "x", "moment": 3, "stage": "weights", "training": {"task": "repeat",
        "settings": {"batch_size": 4, "evaluate_every": 1}, "until": {"steps": 3, "loss": 1000}}})"),
                HasSubstr("there is no step 3 to show"));
}

TEST(LessonPage, ARunThatCannotStartIsRefused) {
    const std::string idle =
        R"({"caption": "x", "training": {"task": "copy", "settings": {"train": {"schedule": {"rate": 0, "last_rate": 0}}},
        "until": {"steps": 3, "loss": 0.1}}})";
    EXPECT_THAT(page_refusal(idle), HasSubstr("nothing would be learned"));
    const std::string before =
        R"({"caption": "x", "training": {"task": "repeat", "settings": {"batch_size": 4}, "until": {"steps": 3}}}, )";
    EXPECT_THAT(page_refusal(before + idle), HasSubstr("nothing would be learned"));
}

/// The second step goes on with the run of the first, at a rate with which it would never get there.
TEST(LessonPage, ARunThatWouldNeverGoOnIsRefused) {
    const auto step = [](const char* rates, const char* end) {
        return std::string(R"({"caption": "x", "training": {"task": "repeat", "settings": {"batch_size": 4, "train": {"schedule": {)") +
               rates + R"(}}}, "until": {"steps": )" + end + "}}";
    };
    const std::string first = step(R"("kind": "constant", "rate": 0.001)", "3") + "}, ",
                      idle = step(R"("kind": "constant", "rate": 0, "last_rate": 0)", "6");
    EXPECT_THAT(page_refusal(first + idle + R"(, "moment": 5})"), HasSubstr("nothing would be learned"));
    EXPECT_THAT(page_refusal(first + idle + "}"), HasSubstr("nothing would be learned")) << "and not the step of the one before";
}

TEST(LessonPage, EscapesWhateverComesFromOutside) {
    const Lesson lesson = read_lesson(
        R"({"name": "t", "title": "<b>T</b>", "summary": "a & b", "steps": [{"title": "\"><script>", "caption": "“{token[1]}” is <i>one</i>.",
        "preset": "causal-attention", "texts": ["a </svg><script>x & y"], "stage": "weights"},
        {"title": "q", "caption": "x", "ask": {"question": "<u>?</u>", "answers": [{"text": "<s>", "when": "{token[0]} = a"}, {"text": "no", "when": "{token[0]} = b"}]}}]})",
        "own");
    const std::string page = lesson_page(lesson);
    for (const char* raw : {"<script", "<i>", "<b>T", "<u>", "<s>", "a & b"}) EXPECT_EQ(page.find(raw), std::string::npos) << raw;
    EXPECT_THAT(page, HasSubstr("&lt;b&gt;T&lt;/b&gt;"));
    EXPECT_THAT(page, HasSubstr("a &amp; b"));
    EXPECT_EQ(unclosed_tag(page), "");
}

TEST(LessonPage, CanBeCancelled) {
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(lesson_page(*find_lesson("masks"), {stop.get_token(), {}}), Cancelled);
}

TEST(PageFigure, ShowsNumbersWhereTheyFitAndHatchesMaskedCells) {
    const PageMap map{
        .rows = 1, .cols = 3, .values = {0.25F, -1, 0}, .masked = {0, 0, 1}, .row_names = {"a"}, .col_names = {"x", "y", "<z>"}};
    const std::string svg = map_svg(map, "t");
    EXPECT_THAT(svg, HasSubstr(">0.25<"));
    EXPECT_THAT(svg, HasSubstr(">−1.00<"));
    EXPECT_THAT(svg, HasSubstr("url(#hatch)"));
    EXPECT_THAT(svg, HasSubstr("&lt;z&gt;"));
    EXPECT_EQ(map_svg(map, "t", 8).find(">0.25<"), std::string::npos) << "no room";
    EXPECT_THAT(map_table(map), HasSubstr("<td>0.2500</td><td>−1.0000</td><td>–</td>"));
    EXPECT_EQ(html_text("<\"&'\x01>"), "&lt;&quot;&amp;&#39;\\x01&gt;");
}

TEST(PageFigure, OrangeIsWhatHelps) {
    PageMap map;
    map.rows = map.cols = 1;
    map.values = {-1};
    EXPECT_THAT(map_svg(map, "t"), HasSubstr("#1f62b0"));
    map.turned = true;
    EXPECT_THAT(map_svg(map, "t"), HasSubstr("#cc6600"));
}

}  // namespace
}  // namespace attn::app
