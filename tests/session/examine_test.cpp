/// The doctor's findings are the same for a whole trace and for an outline, whose layers are examined one after the other.

#include "app/session/facets/examine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/facets/computation.hpp"
#include "app/session/session.hpp"
#include "app/session/values/doctor_report.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/transformer.hpp"
#include "engine/weights/parameters.hpp"

namespace attn::app {
namespace {

std::string text_of_words(int count) {
    std::string text = "the";
    for (int i = 1; i < count; ++i) text += i % 3 == 0 ? " cat" : i % 7 == 0 ? " sat" : " the";
    return text;
}

DoctorReport examined(const Document& document, bool as_outline) {
    const Prepared prepared = prepare(document);
    const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(prepared.config));
    const ForwardSettings& settings = document.forward;
    Trace<float> trace = as_outline ? trace_outline<float>(parameters, prepared.tokens, prepared.source, settings)
                                    : trace_forward<float>(parameters, prepared.tokens, prepared.source, settings);
    EXPECT_EQ(trace.whole(), !as_outline);
    return examine_trace(std::make_shared<const Trace<float>>(std::move(trace)), {});
}

void expect_same(const doctor::Diagnosis& a, const doctor::Diagnosis& b) {
    EXPECT_EQ(a.verdict, b.verdict);
    EXPECT_EQ(a.bug, b.bug);
    EXPECT_EQ(a.reproduced, b.reproduced);
    EXPECT_EQ(a.attention, b.attention);
    EXPECT_EQ(a.stage, b.stage);
    EXPECT_EQ(a.cell, b.cell);
    EXPECT_EQ(a.max_error, b.max_error);
    EXPECT_EQ(a.explanation, b.explanation);
    ASSERT_EQ(a.findings.size(), b.findings.size());
    for (std::size_t i = 0; i < a.findings.size(); ++i) EXPECT_EQ(a.findings[i].sentence, b.findings[i].sentence);
}

TEST(Examination, OfAnOutlineSaysWhatThatOfAllStagesSays) {
    for (const char* preset : {"gpt-tiny", "post-norm-encoder", "llama-tiny"})
        for (const Mistake mistake :
             {Mistake::None, Mistake::NoScale, Mistake::CausalLeaksOne, Mistake::NoResidual, Mistake::MissingNorm, Mistake::NoPositions}) {
            SCOPED_TRACE(std::string(preset) + ", " + std::string(mistake_name(mistake)));
            Document document = open_preset(preset);
            document.config.context_length = 80;
            document.texts = {text_of_words(70)};
            document.forward.mistake = mistake;
            const DoctorReport whole = examined(document, false), outline = examined(document, true);
            const bool shows = mistake != Mistake::None && (mistake != Mistake::CausalLeaksOne || document.forward.masks.causal);
            EXPECT_EQ(whole.diagnosis.verdict == doctor::Verdict::Wrong, shows);
            expect_same(whole.diagnosis, outline.diagnosis);
        }
}

TEST(Examination, AMapThatIsTooLargeIsRefusedBeforeItIsComputed) {
    Document document = open_preset("gpt-tiny");
    document.config.num_heads = document.config.d_model = document.config.d_ff = 8;
    document.config.num_layers = 1;
    document.config.context_length = 1500;
    document.texts = {text_of_words(1500)};
    Session session(document, [] {});
    ASSERT_NE(session.wait()->trace, nullptr);
    const auto report = session.compute(session.states().shown, facet::Doctor{});
    EXPECT_NE(report.problem.find("the doctor examines texts of up to 1448 tokens for a model with 8 heads, and this one has 1500"),
              std::string::npos)
        << report.problem;
}

TEST(Examination, IsCountedBeforeItIsBegun) {
    Document document = open_preset("gpt-tiny");
    document.config.context_length = 200;
    document.texts = {text_of_words(200)};
    const TraceSize size = prepare(document).size;
    // Room for what is shown and for a layer, but not for the doctor's results for a layer.
    Session session(
        document, [] {}, Computation::engine(), TrainingEngine::engine(), size.parameters + size.outline + 2 * size.part);
    ASSERT_FALSE(session.wait()->trace->whole());
    const auto report = session.compute(session.states().shown, facet::Doctor{});
    EXPECT_NE(report.problem.find("the memory budget leaves"), std::string::npos) << report.problem;
}

TEST(Examination, NumbersSetByHandAreNobodysMistake) {
    for (const bool as_outline : {false, true}) {
        Document document = open_preset("gpt-tiny");
        document.config.context_length = 80;
        document.texts = {text_of_words(70)};
        const Edit elsewhere{.at = {Stage::Residual1, 0}, .row = 3, .column = 1, .value = 2};
        document.forward.edits = {elsewhere, {.at = {Stage::Scores, 1}, .sequence = 0, .head = 0, .row = 5, .column = 2, .value = 9}};
        DoctorReport report = examined(document, as_outline);
        EXPECT_TRUE(report.by_hand);
        EXPECT_FALSE(report.diagnosis.bug);
        ASSERT_FALSE(report.diagnosis.findings.empty());
        const auto named = std::count_if(report.diagnosis.findings.begin(), report.diagnosis.findings.end(), [](const doctor::Finding& f) {
            return f.sentence.find("was set by hand, in edit 2 of 2") != std::string::npos && f.stage == "scores";
        });
        EXPECT_EQ(named, 1);
        for (const doctor::Finding& finding : report.diagnosis.findings)
            EXPECT_EQ(finding.sentence.find("No known mistake"), std::string::npos) << finding.sentence;
        // The negative control: a mistake is still one.
        document.forward.edits = {elsewhere};
        document.forward.mistake = Mistake::NoScale;
        report = examined(document, as_outline);
        EXPECT_FALSE(report.by_hand);
        EXPECT_EQ(report.diagnosis.verdict, doctor::Verdict::Wrong);
        EXPECT_EQ(report.diagnosis.bug, doctor::Bug::NoScale);
    }
}

/// The edited cell is the first that differs in its layer, where no mistake explains it together with all others.
TEST(Examination, AMistakeElsewhereIsNamedInsteadOfAnEdit) {
    for (const bool as_outline : {false, true}) {
        Document document = open_preset("gpt-tiny");
        document.config.context_length = 80;
        document.texts = {text_of_words(70)};
        document.forward.mistake = Mistake::NoScale;
        document.forward.edits = {{.at = {Stage::Scores, 0}, .sequence = 0, .head = 0, .row = 0, .column = 0, .value = 90}};
        const DoctorReport report = examined(document, as_outline);
        EXPECT_FALSE(report.by_hand);
        EXPECT_EQ(report.diagnosis.verdict, doctor::Verdict::Wrong);
        EXPECT_EQ(report.diagnosis.bug, doctor::Bug::NoScale);
        EXPECT_EQ(report.diagnosis.attention, "layers.1.attention");
        ASSERT_FALSE(report.diagnosis.findings.empty());
        EXPECT_EQ(report.diagnosis.findings[0].severity, doctor::Severity::Note) << "the edit's, which is still listed first";
    }
}

}  // namespace
}  // namespace attn::app
