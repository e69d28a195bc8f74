/// Errors in lesson files are reported by file, step and field.

#include "app/session/lessons/lesson_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/session/lessons/lesson.hpp"
#include "engine/io/file_error.hpp"

namespace attn::app {
namespace {

using testing::HasSubstr;

/// The error for a lesson file with one mistake.
std::string refusal(const std::string& step, const std::string& before = R"("name": "own", "title": "Own", )") {
    try {
        parse_lesson("{" + before + R"("steps": [{"caption": "fine"}, )" + step + "]}", "my.json");
    } catch (const FileError& error) {
        return error.what();
    }
    return "";
}

/// Omitted fields keep their values, so there is a word for none.
TEST(LessonFiles, AStepCanGoBackToZero) {
    const Lesson lesson = parse_lesson(R"({"name": "own", "title": "Own", "steps": [
        {"caption": "x", "replaced": "positions", "replaced_from": 1}, {"caption": "x"}, {"caption": "x", "replaced": "zero"}]})",
                                       "my.json");
    EXPECT_EQ(lesson.steps.at(1).look.replaced, ReplacedParts::Positions);
    EXPECT_EQ(lesson.steps.at(1).look.replaced_from, 1);
    EXPECT_EQ(lesson.steps.at(2).look.replaced, ReplacedParts::Heads);
    EXPECT_FALSE(lesson.steps.at(2).look.replaced_from);
}

TEST(LessonFiles, ErrorsNameFileStepAndField) {
    ASSERT_EQ(refusal(R"({"caption": "fine"})"), "") << "the frame of these tests is a lesson that can be read";
    const std::vector<std::pair<std::string, std::string>> steps = {
        {R"({})", "my.json, /steps/1/caption: "},
        {R"({"caption": 3})", "my.json, /steps/1/caption: "},
        {R"({"caption": "x {weights[0,0}"})", "my.json, /steps/1/caption: {weights[0,0}: "},
        {R"({"caption": "x {weight[0,0,0,0]}"})", "there is no stage \"weight\""},
        {R"({"caption": "x {weights}"})", "expected one number"},
        {R"({"caption": "x {wild weights}"})", "\"wild\""},
        {R"({"caption": "x {weights[0,0,-1,0]}"})", "not an index"},
        {R"({"caption": "x {weights[0,0,1,0]:99}"})", "12 decimals"},
        {R"({"caption": "x {step now}"})", "unexpected text"},
        {R"({"caption": "x } y"})", "without a {"},
        {R"({"caption": "x { y"})", "without a }"},
        {R"({"caption": "x", "preset": "none"})", "my.json, /steps/1/preset: there is no preset"},
        {R"({"caption": "x", "view": "side"})", "my.json, /steps/1/view: "},
        {R"({"caption": "x", "stage": "attention"})",
         "my.json, /steps/1/stage: there is no stage \"attention\"; the stages are tokens, token_embedding, "},
        {R"({"caption": "x", "layer": -1})", "my.json, /steps/1/layer: "},
        {R"({"caption": "x", "head": 0.5})", "my.json, /steps/1/head: "},
        {R"({"caption": "x", "cell": {"T": -1}})", "my.json, /steps/1/cell/T: "},
        {R"({"caption": "x", "cell": {"Q": 1}})", "my.json, /steps/1/cell/Q: "},
        {R"({"caption": "x", "texts": []})", "my.json, /steps/1/texts: "},
        {R"({"caption": "x", "config": {"d_modell": 4}})", "my.json, /steps/1/config/d_modell: "},
        {R"({"caption": "x", "forward": {"masks": {"causal": 1}}})", "my.json, /steps/1/forward/masks/causal: "},
        {R"({"caption": "x", "panes": ["left"]})", "my.json, /steps/1/panes: there is no \"left\"; expected any of settings, cell, stages"},
        {R"({"caption": "x", "controls": ["mask"]})", "my.json, /steps/1/controls: "},
        {R"({"caption": "x", "replaced": "zero", "replaced_from": 1})", "my.json, /steps/1/replaced_from: zero is taken from no text"},
        {R"({"caption": "x", "moment": 3})", "my.json, /steps/1/moment: "},
        {R"({"caption": "x", "training": {}})", "my.json, /steps/1/training/task: "},
        {R"({"caption": "x", "training": {"task": "fly"}})", "my.json, /steps/1/training/task: "},
        {R"({"caption": "x", "training": {"task": "copy", "until": {"steps": 0}}})", "my.json, /steps/1/training/until/steps: "},
        {R"({"caption": "x", "training": {"task": "copy", "settings": {"batch_size": 0}}})", "my.json, /steps/1/training: "},
        {R"({"caption": "x", "training": {"task": "copy"}, "config": {}})", "my.json, /steps/1/config: "},
        {R"({"caption": "x", "sound": true})", "my.json, /steps/1/sound: "},
        {R"({"caption": "x", "claims": "{weights[0,0,0,0]} = 1"})", "my.json, /steps/1/claims: "},
        {R"({"caption": "x", "claims": ["{weights[0,0,0,0]}"]})",
         "my.json, /steps/1/claims: \"{weights[0,0,0,0]}\": expected =, !=, < or >"},
        {R"({"caption": "x", "claims": ["{weights[0,0,0,0]} > 0", "1 < 2"]})", "my.json, /steps/1/claims: \"1 < 2\": a claim quotes"},
        {R"({"caption": "x", "claims": ["about {weights[0,0,0,0]} > 0"]})", "expected one quotation in braces"},
        {R"({"caption": "x", "claims": ["{weight[0,0,0,0]} > 0"]})", "there is no stage \"weight\""},
        {R"({"caption": "x", "ask": {"answers": []}})", "my.json, /steps/1/ask/question: "},
        {R"({"caption": "x", "ask": {"question": "?"}})", "my.json, /steps/1/ask/answers: expected 2 to 4 answers, found 0"},
        {R"({"caption": "x", "ask": {"question": "?", "answers": [{"text": "a"}]}})", "my.json, /steps/1/ask/answers/0/when: "},
        {R"({"caption": "x", "ask": {"question": "?", "answers": [{"when": "{token[0]} = a"}]}})",
         "my.json, /steps/1/ask/answers/0/text: "},
        {R"({"caption": "x", "ask": {"question": "?", "answers": [{"text": "a", "when": "maybe"}]}})",
         "my.json, /steps/1/ask/answers/0/when: "},
        {R"({"caption": "x", "ask": {"question": "?", "answers": [{"text": "a", "when": "{token[0]} = a"}]}})",
         "expected 2 to 4 answers, found 1"},
        {R"({"caption": "x", "ask": {"question": "?", "answers": [{"text": "a", "when": "{token[0]} = a"},
            {"text": "a", "when": "{token[0]} = b"}]}})",
         "my.json, /steps/1/ask/answers: \"a\" is given twice"},
        {R"({"caption": "x", "ask": {"question": "?", "right": 1}})", "my.json, /steps/1/ask"},
        {R"("x")", "my.json, /steps/1: "}};
    for (const auto& [step, expected] : steps) EXPECT_THAT(refusal(step), HasSubstr(expected)) << step;
    EXPECT_THAT(refusal(R"({"caption": "x"})", R"("title": "b", )"), HasSubstr("my.json, /name: "));
    EXPECT_THAT(refusal(R"({"caption": "x"})", R"("name": "b", )"), HasSubstr("my.json, /title: "));
    EXPECT_THAT(refusal(R"({"caption": "x"})", R"("name": "b", "title": "b", )"), "") << "and a first step";
    try {
        parse_lesson(R"({"name": "a", "title": "b", "steps": [{"caption": "x", "ask": {"question": "?", "answers": []}}]})", "my.json");
        FAIL() << "the first step has no picture before it";
    } catch (const FileError& error) {
        EXPECT_THAT(error.what(), HasSubstr("my.json, /steps/0/ask: "));
    }
    const auto why_no_steps = [](const std::string& more) {
        try {
            parse_lesson(R"({"name": "a", "title": "b")" + more + "}", "my.json");
        } catch (const FileError& error) {
            return std::string(error.what());
        }
        return std::string("it is a lesson");
    };
    EXPECT_EQ(why_no_steps(R"(, "steps": [])"), "my.json, /steps: a lesson has at least one step");
    EXPECT_EQ(why_no_steps(""), "my.json, /steps: this field is missing");
    EXPECT_THROW(parse_lesson("{", "my.json"), FileError);
    EXPECT_THROW(find_lesson("no-such-lesson"), Error);
}

/// The error for a lesson whose second step, for a model with two layers and four heads over four tokens, has these fields.
std::string misplaced(const std::string& fields, const std::string& caption = "x") {
    const std::string json = R"({"name": "own", "title": "Own", "steps": [
        {"caption": "fine", "preset": "gpt-tiny", "texts": ["one two three four"], "config": {"num_layers": 2}, "stage": "weights"},
        {"caption": ")" + caption +
                             "\"" + fields + "}]}";
    try {
        check_lesson(parse_lesson(json, "my.json"), "my.json");
    } catch (const FileError& error) {
        return error.what();
    }
    return "";
}

TEST(LessonPlaces, ThoseOfTheBuiltInLessonsExist) {
    for (const auto& lesson : lessons()) EXPECT_NO_THROW(check_lesson(*lesson, lesson->name)) << lesson->name;
}

TEST(LessonPlaces, WhatExistsPasses) {
    for (const char* fields :
         {"", R"(, "layer": 1, "head": 3, "cell": {"T": 3, "S": 0})", R"(, "gradients": true)", R"(, "compare_unmasked": true)",
          R"(, "view": "heads", "stage": "scores")", R"(, "stage": "layers.1.ffn_hidden", "cell": {"T": 3, "F": 255})",
          R"(, "stage": "logits", "cell": {"T": 0, "V": 5})", R"(, "view": "lens", "cell": {"T": 2})",
          R"(, "view": "totals", "stage": "embedding", "cell": {"T": 2, "S": 1})", R"(, "texts": ["a b", "c"], "sequence": 1)",
          R"(, "forward": {"masks": {"painted": [[3, 0]]}})", R"(, "preset": "encoder-decoder", "stage": "cross_weights", "layer": 0)",
          R"(, "forward": {"edits": [{"kind": "scale", "stage": "layers.1.attention.context", "head": 3, "value": 0}]})"})
        EXPECT_EQ(misplaced(fields), "") << fields;
    for (const char* quote : {"{weights[0,3,3,0]}", "{layers.1.attention.weights[0,0,0,0]}", "{token[3]}", "{most weights[0,0,3,*]}",
                              "{most logits[0,3,*]}", "{sum q[*,0,*,3]}", "{token_embedding.weight[5,63]}", "{shape layers.1.ffn_hidden}"})
        EXPECT_EQ(misplaced("", quote), "") << quote;
    EXPECT_EQ(misplaced(R"(, "preset": "encoder-decoder")", "{most cross_weights[0,0,1,*]} {weights[0,0,0,0]} {encoder.tokens[0,0]}"), "");
}

TEST(LessonPlaces, WhatDoesNotExistIsNamedByFileStepAndField) {
    const std::vector<std::pair<std::string, std::string>> fields = {
        {R"("layer": 7)", "layer: there is no layer 7: the model has 2"},
        {R"("stage": "layers.7.attention.q")", "stage: there is no layer 7"},
        {R"("stage": "cross_weights")", "stage: this model has no stage layers.0.cross_attention.weights"},
        {R"("stage": "encoder.tokens")", "stage: this model has no stage encoder.tokens; it has tokens, token_embedding, "},
        {R"("stage": "logits", "layer": 1)", "layer: logits belongs to no layer"},
        {R"("stage": "layers.0.attention.q", "layer": 1)", "layer: layers.0.attention.q belongs to layer 0"},
        {R"("head": 9)", "head: there is no head 9: the model has 4"},
        {R"("sequence": 1)", "sequence: there is no text 1: there are 1"},
        {R"("cell": {"T": 99})", "cell/T: there is no T 99"},
        {R"("cell": {"S": 4})", "cell/S: there is no S 4"},
        {R"("cell": {"F": 0})", "cell/F: layers.0.attention.weights"},
        {R"("stage": "embedding", "cell": {"C": 64})", "cell/C: there is no C 64"},
        {R"("texts": ["two words"], "cell": {"T": 2})", "cell/T: there is no T 2"},
        {R"("preset": "numpy-single-head", "gradients": true)", "gradients: "},
        {R"("texts": ["alone"], "gradients": true)", "gradients: "},
        {R"("view": "lines", "gradients": true)", "gradients: "},
        {R"("view": "totals", "totals_layer": 99)", "totals_layer: there is no layer 99: the model has 2"},
        {R"("view": "knock-out", "replaced_from": 1)", "replaced_from: there is no text 1: there is 1"},
        {R"("view": "knock-out", "measure": "logit_difference", "against": 99999)",
         "against: there is no token 99999: the vocabulary has "},
        {R"("texts": ["one", "two"], "view": "knock-out", "replaced_from": 0)", "replaced_from: a text cannot be replaced by itself"},
        {R"("view": "knock-out", "replaced": "positions")", "replaced: positions are taken from another text"},
        {R"("stage": "tokens", "gradients": true)", "gradients: "},
        {R"("forward": {"masks": {"causal": false}}, "compare_unmasked": true)", "compare_unmasked: there is nothing to compare"},
        {R"("preset": "self-attention", "view": "lens")", "view: "},
        {R"("preset": "self-attention", "view": "knock-out")", "view: "},
        {R"("view": "heads", "stage": "q")", "stage: the view heads shows attention maps"},
        {R"("source_texts": ["un deux"])", "source_texts: this model has no encoder"},
        {R"("preset": "encoder-decoder", "source_texts": ["a", "b", "c"])", "source_texts: "},
        {R"("texts": ["  "])", "texts: type some text"},
        {R"("config": {"num_heads": 5})", "config: "},
        {R"("config": {"context_length": 3})", "config: "},
        {R"("forward": {"masks": {"painted": [[0, 4]]}})", "forward/masks/painted: there is no cell [0, 4]"},
        {R"("forward": {"edits": [{"kind": "set", "stage": "layers.0.attention.weights", "row": 50, "column": 0, "value": 1}]})",
         "forward/edits/0: this edit changes nothing: there is no position 50: there are only 4 positions, 0 to 3"},
        {R"("forward": {"edits": [{"kind": "set", "stage": "layers.0.attention.weights", "row": 0, "column": 3, "value": 1}]})",
         "forward/edits/0: this edit changes nothing: every cell"},
        {R"("preset": "self-attention", "training": {"task": "copy"})", "preset: "},
        {R"("training": {"task": "copy", "until": {"steps": 40}}, "moment": 41)", "moment: the run of this step ends after 40 steps"},
        {R"("training": {"task": "copy"}, "texts": ["not of its alphabet"])", "texts: "},
        {R"("training": {"task": "copy"}, "layer": 7)", "layer: there is no layer 7"},
        {R"("training": {"task": "copy"}, "cell": {"T": 99})", "cell/T: there is no T 99"},
        {R"("training": {"task": "copy", "settings": {"task": {"length": 2, "symbols": 2}}})", "training: "},
        {R"("training": {"task": "copy", "settings": {"train": {"schedule": {"kind": "linear", "last_rate": 0, "total_steps": 50}}},
            "until": {"steps": 60}})",
         "training/until/steps: "},
    };
    for (const auto& [field, expected] : fields) EXPECT_THAT(misplaced(", " + field), HasSubstr("my.json, /steps/1/" + expected)) << field;
}

TEST(LessonPlaces, QuotationsThatCanNeverBeMadeAreRefused) {
    const std::vector<std::pair<std::string, std::string>> quotes = {
        {"{weights[0,0,99,1]}", "there is no T 99"},
        {"{weights[0,0,1,4]}", "there is no S 4"},
        {"{weights[0,4,1,1]}", "there is no H 4"},
        {"{weights[1,0,1,1]}", "there is no B 1"},
        {"{sum weights[0,0,4,*]}", "there is no T 4"},
        {"{weights[0,0,1]}", "there are 3 indices"},
        {"{sum logits[0,0,0,*]}", "there are 4 indices"},
        {"{layers.2.attention.weights[0,0,0,0]}", "no stage layers.2.attention.weights"},
        {"{encoder.tokens[0,0]}", "no stage encoder.tokens"},
        {"{cross_weights[0,0,0,0]}", "no stage"},
        {"{shape cross_weights}", "no stage"},
        {"{shape weights[0,0,*,*]}", "leave the index out"},
        {"{lm_head.weight[0,0]}", "no parameter lm_head.weight"},
        {"{layers.2.norm_1.bias[0]}", "no parameter"},
        {"{token_embedding.weight[0,64]}", "there is no C 64"},
        {"{token_embedding.weight[0]}", "there are 1 indices"},
        {"{token[4]}", "there is no token 4: the text has 4"},
        {"{token[1,0]}", "there is no text 1"},
        {"{token[*]}", "* is not a position"},
        {"{most weights[0,0,9,*]}", "there is no T 9"},
        {"{most weights[0,*,0,0]}", "an axis of tokens"},
        {"{most q[0,0,0,*]}", "an axis of tokens"},
        {"{most weights}", "expected one row"},
        {"{step}", "no training run"},
        {"{loss}", "no training run"},
        {"{accuracy}", "no training run"},
    };
    for (const auto& [quote, expected] : quotes) {
        const std::string message = misplaced("", "It is " + quote + ".");
        EXPECT_THAT(message, HasSubstr("my.json, /steps/1/caption: " + quote + ": ")) << quote;
        EXPECT_THAT(message, HasSubstr(expected)) << quote;
    }
}

/// A question about the second text of misplaced(), with these conditions for its answers.
std::string asking(const std::vector<std::string>& conditions) {
    std::string answers;
    for (const std::string& when : conditions)
        answers += std::string(answers.empty() ? "" : ", ") + R"({"text": ")" + when + R"(", "when": ")" + when + R"("})";
    return R"(, "ask": {"question": "What?", "answers": [)" + answers + "]}";
}

TEST(LessonClaims, AreCheckedWhereTheModelIsKnown) {
    const std::string first = "{zeros weights[0,0,1,*]}";  // of four positions, two come later
    EXPECT_EQ(misplaced(R"(, "claims": [")" + first + R"( = 2", "{sum weights[0,0,1,*]} = 1.000"])"), "");
    EXPECT_THAT(misplaced(R"(, "claims": [")" + first + R"( = 2", ")" + first + R"( > 2"])"),
                HasSubstr("my.json, /steps/1/claims/1: this is not true: \"" + first + " > 2\", " + first + " is 2"));
    EXPECT_THAT(misplaced(R"(, "claims": ["{weights[0,0,9,1]} > 0"])"),
                HasSubstr("my.json, /steps/1/claims/0: \"{weights[0,0,9,1]} > 0\": there is no T 9"));
    EXPECT_EQ(misplaced(R"(, "training": {"task": "copy"}, "claims": ["{weights[0,0,1,1]} > 2"])"), "")
        << "what training comes to is not known before it has been done";
    EXPECT_THAT(misplaced(R"(, "training": {"task": "copy"}, "claims": ["{weights[0,0,99,1]} > 2"])"), HasSubstr("there is no T 99"));
}

TEST(LessonClaims, AnAnswerKeyThatIsWrongIsRefused) {
    EXPECT_EQ(misplaced(asking({"{zeros weights[0,0,1,*]} = 2", "{zeros weights[0,0,1,*]} = 3"})), "");
    EXPECT_THAT(misplaced(asking({"{zeros weights[0,0,1,*]} = 1", "{zeros weights[0,0,1,*]} = 3"})),
                HasSubstr("my.json, /steps/1/ask/answers: expected exactly one answer to be right: "))
        << "none is right";
    EXPECT_THAT(misplaced(asking({"{zeros weights[0,0,1,*]} = 2", "{zeros weights[0,0,1,*]} > 1"})),
                HasSubstr("expected exactly one answer"))
        << "two are right";
    EXPECT_THAT(misplaced(asking({"{zeros weights[0,0,1,*]} = 2", "{token[7]} = b"})),
                HasSubstr("my.json, /steps/1/ask/answers/1/when: \"{token[7]} = b\": there is no token 7"));
}

TEST(LessonClaims, AreAboutTheTrainedModelOfTheExample) {
    const auto says = [](const std::string& claim) {
        try {
            check_lesson(
                parse_lesson(R"({"name": "a", "title": "b", "steps": [{"caption": "c", "preset": "stories", "stage": "weights", "layer": 1,
                "claims": [")" + claim +
                                 R"("]}]})",
                             "my.json"),
                "my.json");
        } catch (const FileError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(says("{most weights[0,2,16,*]} = Lily"), "");
    EXPECT_EQ(says("{max layers.1.attention.weights[0,2,16,*]} > 0.9"), "");
    EXPECT_THAT(says("{most weights[0,2,16,*]} = Tom"), HasSubstr("{most weights[0,2,16,*]} is Lily"));
}

TEST(LessonPlaces, WhatIsKeptFromAStepBeforeHasToExistToo) {
    const auto second = [](const std::string& fields) {
        try {
            check_lesson(
                parse_lesson(R"({"name": "own", "title": "Own", "steps": [{"caption": "fine", "preset": "multi-head", "stage": "weights",
                "head": 2, "cell": {"T": 3, "S": 1}}, {"caption": "x", )" +
                                 fields + "}]}",
                             "my.json"),
                "my.json");
        } catch (const FileError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(second(R"("preset": "numpy-single-head")"), HasSubstr("/steps/1/head: there is no head 2"));
    EXPECT_THAT(second(R"("texts": ["one two"])"), HasSubstr("/steps/1/cell/T: there is no T 3"));
    EXPECT_EQ(second(R"("stage": "context")"), "") << "as for a person who steps on, the key stays chosen for stages that have keys";
    EXPECT_THAT(second(R"("stage": "context", "cell": {"T": 3, "S": 1})"), HasSubstr("/steps/1/cell/S: "));
}

TEST(LessonFiles, WhatAStepDoesNotSayStaysAsItWas) {
    const Lesson lesson = parse_lesson(R"({"name": "a", "title": "b", "steps": [
        {"caption": "1", "preset": "multi-head", "stage": "weights", "head": 2, "cell": {"T": 3, "S": 1}, "panes": ["cell"],
         "forward": {"masks": {"causal": true}}, "claims": ["{zeros weights[0,0,0,*]} > 0"]},
        {"caption": "2", "ask": {"question": "?", "answers": [{"text": "a", "when": "{token[0]} = a"}, {"text": "b", "when": "{token[0]} = b"}]}, "forward": {"temperature": 2}, "stage": "scores"},
        {"caption": "3", "preset": "self-attention", "cell": {}, "panes": ["stages"], "controls": ["masks"]}]})",
                                       "own");
    const LessonStep& second = lesson.steps[1];
    EXPECT_TRUE(second.document.forward.masks.causal);
    EXPECT_EQ(second.document.forward.temperature, 2);
    EXPECT_EQ(second.document.preset, "multi-head");
    EXPECT_EQ(second.document.look_at, "") << "the caption says what to look at";
    EXPECT_EQ(second.look.stage, (StageId{Stage::Scores, 0}));
    EXPECT_EQ(second.look.head, 2);
    EXPECT_EQ(second.look.cell, lesson.steps[0].look.cell);
    EXPECT_FALSE(second.look.settings);
    EXPECT_TRUE(second.look.inspector);
    EXPECT_TRUE(second.look.controls.all());
    EXPECT_FALSE(lesson.steps[2].document.forward.masks.causal) << "a preset begins anew";
    EXPECT_TRUE(lesson.steps[2].look.cell.empty());
    EXPECT_EQ(lesson.steps[0].claims.size(), 1U);
    EXPECT_TRUE(second.claims.empty()) << "what is claimed of one step is not claimed of the next";
    EXPECT_TRUE(second.question.has_value());
    EXPECT_FALSE(lesson.steps[2].question.has_value());
    EXPECT_EQ(lesson.steps[2].look.controls.count(), 1U);
}

}  // namespace
}  // namespace attn::app
