/// The output of `attnscope render`. Needs OpenGL: skipped without a display unless ATTN_REQUIRE_GL is set.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "tests/cli/picture.hpp"
#include "tests/cli/process.hpp"
#include "tests/support/python.hpp"

namespace attn::test {
namespace {

/// How many colours a picture has.
std::size_t colors_of(const Picture& picture) {
    std::set<std::uint32_t> colors;
    for (std::size_t i = 0; i < picture.bytes.size(); i += 3)
        colors.insert(std::uint32_t{picture.bytes[i]} << 16 | std::uint32_t{picture.bytes[i + 1]} << 8 | picture.bytes[i + 2]);
    return colors.size();
}

class Render : public testing::Test {
protected:
    void SetUp() override {
        if (std::getenv("DISPLAY") == nullptr && std::getenv("ATTN_REQUIRE_GL") == nullptr) GTEST_SKIP() << "there is no screen";
    }

    /// Renders to a file of this name and returns its path.
    std::string draw(const std::string& name, std::vector<std::string> arguments) {
        const std::string path = folder_.path(name);
        arguments.insert(arguments.begin(), {"render", "--out", path});
        const Outcome outcome = attnscope(arguments);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "");
        EXPECT_NE(outcome.out.find(path), std::string::npos) << outcome.out;
        return path;
    }

    ScratchFolder folder_;
};

TEST_F(Render, IsAPictureOfTheSizeAskedForWithSomethingOnIt) {
    const Picture picture = read_png(draw("step.png", {"--size", "1200x800"}));
    EXPECT_EQ(picture.width, 1200U);
    EXPECT_EQ(picture.height, 800U);
    EXPECT_GT(colors_of(picture), 200U) << "a heatmap and text have many colours";
}

TEST_F(Render, TrainsAndDrawsTheRun) {
    const Picture picture = read_png(draw("train.png", {"--view", "train", "--task", "copy", "--steps", "4", "--step", "2"}));
    EXPECT_EQ(picture.width, 1600U);
    EXPECT_GT(colors_of(picture), 200U);
}

TEST_F(Render, GivesTheSameBytesTwice) {
    const std::vector<std::string> arguments{"--preset", "gpt-tiny", "--text", "the same words", "--view", "grid"};
    const std::string first = read_bytes(draw("first.png", arguments));
    EXPECT_TRUE(first == read_bytes(draw("second.png", arguments)));
    // Negative control: another text gives another picture.
    EXPECT_FALSE(first == read_bytes(draw("other.png", {"--preset", "gpt-tiny", "--text", "some other words", "--view", "grid"})));
}

TEST_F(Render, ViewsStagesHeadsAndThemesDiffer) {
    std::set<std::string> pictures;
    const std::vector<std::vector<std::string>> variants{{},
                                                         {"--view", "heads"},
                                                         {"--view", "grid"},
                                                         {"--view", "lines"},
                                                         {"--view", "lines", "--all-layers"},
                                                         {"--view", "totals"},
                                                         {"--view", "totals", "--plain-mean"},
                                                         {"--view", "lens"},
                                                         {"--compare", "unmasked"},
                                                         {"--compare", "unmasked", "--compare-as", "side"},
                                                         {"--compare-head", "2", "--compare-as", "difference"},
                                                         {"--stage", "q"},
                                                         {"--layer", "1"},
                                                         {"--head", "1"},
                                                         {"--theme", "light"},
                                                         {"--scale", "1.5"}};
    for (const auto& variant : variants) {
        std::vector<std::string> arguments{"--preset", "gpt-tiny", "--size", "1000x700"};
        arguments.insert(arguments.end(), variant.begin(), variant.end());
        pictures.insert(read_bytes(draw("variant.png", arguments)));
    }
    EXPECT_EQ(pictures.size(), variants.size());
}

TEST_F(Render, KnockOutShowsWhatItIsAskedFor) {
    std::set<std::string> pictures;
    const std::vector<std::vector<std::string>> variants{{},
                                                         {"--measure", "probability"},
                                                         {"--measure", "probability", "--position", "0"},
                                                         {"--replace-from", "1"},
                                                         {"--measure", "logit-difference"},
                                                         {"--measure", "logit-difference", "--against", "dog"},
                                                         {"--measure", "probability", "--token", "dog"},
                                                         {"--replace", "blocks"},
                                                         {"--replace-from", "1", "--replace", "positions"},
                                                         {"--replace-from", "1", "--replace", "attention-positions"},
                                                         {"--replace-from", "1", "--replace", "feed-forward-positions"}};
    for (const auto& variant : variants) {
        std::vector<std::string> arguments{"--preset",    "gpt-tiny", "--text",    "the cat sat", "--text",
                                           "the dog sat", "--view",   "knock-out", "--size",      "1000x700"};
        arguments.insert(arguments.end(), variant.begin(), variant.end());
        pictures.insert(read_bytes(draw("variant.png", arguments)));
    }
    EXPECT_EQ(pictures.size(), variants.size());
}

/// A narrow window says all that is measured, and which of the texts it is.
TEST_F(Render, KnockOutSaysWhatItMeasuresInFull) {
    const auto said = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"--view", "knock-out", "--size", "1280x720"});
        return read_bytes(draw("said.svg", arguments));
    };
    EXPECT_NE(said({"--preset", "translation", "--measure", "logit-difference"}).find("‘loket’ of the target"), std::string::npos);
    EXPECT_NE(said({"--preset", "stories", "--text", "Tom has a ball", "--text", "Mia has a ball"}).find("next-token loss on text 1 of 2"),
              std::string::npos);
}

/// A name without a space means the text's own token where the vocabulary has both; quotes mean exactly what they say.
TEST_F(Render, AsksForTheTokenThatIsMeant) {
    const std::string model = std::string(ATTN_TEST_DATA) + "/golden/hf/gpt2";
    const auto asked = [&](const std::string& position, const std::string& token) {
        const Outcome outcome = attnscope({"render", "--model", model, "--text", "they transform a day", "--view", "knock-out", "--measure",
                                           "probability", "--position", position, "--token", token, "--out", folder_.path("asked.csv")});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return std::pair(read_bytes(folder_.path("asked.csv")), outcome.err);
    };
    const auto quoted = [](const std::string& token) { return "\"" + token + "\""; };
    // After " transform" the text goes on with " a", after " d" with "a".
    for (const auto& [position, own, other] : {std::tuple("3", " a", "a"), {"5", "a", " a"}}) {
        const auto [numbers, said] = asked(position, "a");
        EXPECT_NE(said.find(std::string("--token a: taken for the token \"") + own + "\", which the text has after position " + position +
                            "; --token '" + quoted(other) + "'"),
                  std::string::npos)
            << said;
        EXPECT_EQ(numbers, asked(position, quoted(own)).first);
        EXPECT_NE(numbers, asked(position, quoted(other)).first);
        EXPECT_EQ(asked(position, quoted(own)).second, "") << "nothing to say";
    }
    // The text ends, and does not say.
    const auto [numbers, said] = asked("7", "a");
    EXPECT_NE(said.find("the likelier one after position 7"), std::string::npos) << said;
    const auto probability = [](const std::string& csv) { return std::stod(csv.substr(std::string("change from ").size())); };
    EXPECT_EQ(probability(numbers), std::max(probability(asked("7", quoted("a")).first), probability(asked("7", quoted(" a")).first)));
}

/// The numbers of a stage are those that export writes; a view without numbers says so.
TEST_F(Render, WritesTheNumbersOfAView) {
    const std::vector<std::string> of{"--preset", "gpt-tiny", "--head", "1"};
    const auto written = [&](std::vector<std::string> arguments, const std::string& name) {
        arguments.insert(arguments.begin() + 1, of.begin(), of.end());
        arguments.insert(arguments.end(), {"--out", folder_.path(name)});
        EXPECT_EQ(attnscope(arguments).exit_code, 0);
        return read_bytes(folder_.path(name));
    };
    const std::string shown = written({"render", "--view", "step", "--stage", "v"}, "shown.csv");
    EXPECT_EQ(shown, written({"export", "--stage", "v", "--batch", "0"}, "exported.csv"));
    const std::string worths = written({"render", "--view", "knock-out", "--replace", "blocks"}, "worths.csv");
    EXPECT_TRUE(worths.starts_with("change from ")) << worths;
    EXPECT_NE(worths.find(" in next-token loss on the shown text,attention,ffn\r\nlayer 0,"), std::string::npos) << worths;
    const Outcome none = attnscope({"render", "--preset", "gpt-tiny", "--view", "write", "--out", folder_.path("none.csv")});
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_NE(none.err.find("cannot be copied or exported"), std::string::npos) << none.err;
}

TEST_F(Render, PutsAnotherFileOrTokenizerBesideTheModel) {
    const std::string data = ATTN_TEST_DATA, model = data + "/golden/hf/gpt2", other = model;
    std::set<std::string> pictures;
    const std::vector<std::vector<std::string>> variants{{"--view", "precision"},
                                                         {"--view", "precision", "--beside", other},
                                                         {"--stage", "tokens"},
                                                         {"--stage", "tokens", "--beside", data + "/golden/hf/tokenizers/bert_uncased"}};
    for (const auto& variant : variants) {
        std::vector<std::string> arguments{"--model", model, "--size", "1000x700"};
        arguments.insert(arguments.end(), variant.begin(), variant.end());
        pictures.insert(read_bytes(draw("variant.png", arguments)));
    }
    EXPECT_EQ(pictures.size(), variants.size());
    const Outcome nowhere = attnscope({"render", "--model", model, "--view", "heads", "--beside", other, "--out", folder_.path("no.png")});
    EXPECT_EQ(nowhere.exit_code, 2);
    EXPECT_NE(nowhere.err.find("--beside goes with --view precision"), std::string::npos) << nowhere.err;
}

TEST_F(Render, DrawsNoPictureOfWhatCannotBeShown) {
    const std::string other = std::string(ATTN_TEST_DATA) + "/golden/hf/gpt2";
    for (const auto& [arguments, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"--view", "precision", "--preset", "gpt-tiny", "--beside", other}, "--model"},
             {{"--view", "doctor", "--dump", folder_.path("missing.npz")}, "missing.npz"}}) {
        std::vector<std::string> all{"render", "--out", folder_.path("no.png")};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const Outcome outcome = attnscope(all);
        EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
        EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
        EXPECT_TRUE(folder_.names().empty());
    }
}

TEST_F(Render, DrawsNoPictureOfAFileBesideTheModelThatCannotBeRead) {
    const std::string model = std::string(ATTN_TEST_DATA) + "/golden/hf/gpt2";
    for (const auto& [shown, beside] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"--view", "precision"}, folder_.path("missing.gguf")},
             {{"--view", "precision"}, std::string(ATTN_TEST_DATA) + "/golden/gguf/bloom.gguf"},
             {{"--stage", "tokens"}, folder_.path("missing")}}) {
        std::vector<std::string> arguments{"render", "--model", model, "--beside", beside, "--out", folder_.path("no.png")};
        arguments.insert(arguments.end(), shown.begin(), shown.end());
        const Outcome outcome = attnscope(arguments);
        EXPECT_EQ(outcome.exit_code, 2) << beside;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_FALSE(std::filesystem::exists(folder_.path("no.png"))) << beside;
    }
}

/// The contents of the file, read by Python's XML parser.
constexpr const char* kReadSvg = R"(
import sys
import xml.etree.ElementTree as ET
root = ET.parse('picture.svg').getroot()
ns = '{http://www.w3.org/2000/svg}'
assert root.tag == ns + 'svg' and root.get('viewBox') == '0 0 1200 800', root.attrib
texts = [t.text for t in root.iter(ns + 'text')]
for word in WORDS:
    assert any(word in text for text in texts), (word, texts)
rects = list(root.iter(ns + 'rect'))
cells = [r for g in root.iter(ns + 'g') for r in g.iter(ns + 'rect')]
assert len(cells) >= CELLS, len(cells)
assert sum(r.get('fill') == 'url(#masked)' for r in cells) == MASKED, sum(r.get('fill') == 'url(#masked)' for r in cells)
ids = {e.get('id') for e in root.iter() if e.get('id')}
for e in root.iter():
    for a in (e.get('fill'), e.get('clip-path')):
        if a and a.startswith('url('): assert a[5:-1] in ids, a
for r in rects:
    assert float(r.get('width')) >= 0 and float(r.get('height')) >= 0, r.attrib
)";

TEST_F(Render, WritesTextCellsAndMasksAsSvg) {
    ATTN_NEEDS_NUMPY(folder_.path(""));
    const auto check = [&](const char* values, std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"--size", "1200x800", "--centre", "--text", "the cat <sat> & \"was\" tired"});
        draw("picture.svg", arguments);
        const PythonOutcome python = run_python(folder_.path(""), std::string(values) + kReadSvg);
        EXPECT_TRUE(python.ok) << python.said;
    };
    // The scaled map has no masked cells; that of the weights has those above the diagonal of ten tokens.
    check("WORDS, CELLS, MASKED = ['weights', 'query', 'cat', '<', '&', '0.', 'exp'], 200, 90\n", {"--stage", "weights"});
    check("WORDS, CELLS, MASKED = ['scores'], 100, 0\n", {"--stage", "scores", "--theme", "light"});
    check("WORDS, CELLS, MASKED = ['head'], 100, 0\n", {"--view", "heads", "--stage", "scores"});
}

TEST_F(Render, RefusesWhatAViewDoesNotShow) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{"--view", "lines", "--gradients"}, "--gradients needs --view step, heads or grid"},
        {{"--view", "heads", "--compare", "unmasked", "--compare-as", "side"}, "--compare-as side needs --view step or totals"},
        {{"--view", "knock-out", "--compare", "unmasked"}, "nothing is compared in this view"},
        {{"--compare", "pinned"}, "no state is pinned"},
        {{"--view", "heads", "--measure", "loss"}, "--measure, --token, --against, --replace and --replace-from need --view knock-out"},
        {{"--view", "knock-out", "--replace-from", "1"}, "--replace-from 1: there is only one text"},
        {{"--position", "99"}, "there is no position 99"},
        {{"--view", "knock-out", "--replace-from", "0"}, "a text cannot be replaced by itself"},
        {{"--view", "knock-out", "--token", "cat"}, "need --measure probability or logit-difference"},
        {{"--view", "knock-out", "--measure", "probability", "--against", "cat"}, "--against needs --measure logit-difference"},
        {{"--view", "knock-out", "--measure", "probability", "--token", "zebra"}, "--token zebra: the vocabulary has no such token"},
        {{"--view", "knock-out", "--measure", "logit-difference", "--token", "the", "--against", "\"the\""}, "name the same token"},
        {{"--text", "the cat sat", "--view", "knock-out", "--measure", "logit-difference", "--position", "1", "--against", "sat"},
         "--against sat: this is the token asked about"},
        {{"--view", "knock-out", "--replace", "positions"}, "--replace positions needs --replace-from"},
    };
    for (const auto& [options, problem] : cases) {
        std::vector<std::string> arguments{"render", "--preset", "gpt-tiny", "--out", folder_.path("refused.png")};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const Outcome outcome = attnscope(arguments);
        EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
        EXPECT_NE(outcome.err.find(problem), std::string::npos) << outcome.err;
    }
}

}  // namespace
}  // namespace attn::test
