/// Commands that change the document, and undo and redo.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "app/session/document/document_error.hpp"
#include "app/session/document/held_models.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/document/named_runs.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/document/recording_document.hpp"
#include "app/session/session_impl.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/training/trained_document.hpp"
#include "engine/tensor/error.hpp"
#include "engine/train/moment_steps.hpp"

namespace attn::app {

Document ready_to_open(Document document) {
    if (document.texts.empty()) document.texts.emplace_back();
    mark_runs_missing(document);
    return document.trained || document.shipped != nullptr || document.recorded ? document : untrained(std::move(document));
}

void Session::Impl::expect_model() const {
    if (document().recorded)
        throw DocumentError(fmt::format("{}: to change texts or masks, open a model or an example", kRecordingDoesNotRun), Field::None);
}

void Session::Impl::carry_out(const command::SetTexts& set, const std::string& merge) {
    expect_model();
    // The new texts may equal the old ones including generated text; then nothing has changed.
    const auto are_those_of = [&set](const Document& d) { return set.texts == whole_texts(d) && set.source_texts == d.source_texts; };
    if (are_those_of(document())) return;
    Document next = document();
    // An edit that was cancelled, or ends where it began, brings back the generated text with its branches.
    if (const std::shared_ptr<const Document> before = history.before_joined(merge); before != nullptr && are_those_of(*before)) {
        next.texts = before->texts;
        next.source_texts = before->source_texts;
        next.written = before->written;
        next.writing = before->writing;
        if (next == *before) {
            if (!next.writing.tokens.empty()) files.tell("The generated text is back.", false);
            return replace(std::move(next), merge);
        }
    }
    next.texts = set.texts;
    next.source_texts = set.source_texts;
    next.written = {};
    next.writing = {};
    expect_short_texts(next);
    if (!document().writing.tokens.empty()) files.tell("The generated text belonged to the previous text. Undo brings it back.", false);
    change(std::move(next), merge);
}

void Session::Impl::carry_out(const command::SetTokenizer& set, const std::string& merge) {
    expect_model();
    if (document().model != nullptr) throw Error("a published model has its own tokenizer");
    if (set.kind == document().tokenizer) return;
    // The symbols of the old kind cannot serve as vocabulary texts for the new one.
    const bool fixed = !document().vocabulary.empty();
    Document next = untrained(document());
    if (fixed) next.vocabulary_texts.clear();
    next.tokenizer = set.kind;
    change(std::move(next), merge);
}

void Session::Impl::carry_out(const command::SetConfig& set, const std::string& merge) {
    expect_model();
    if (document().model != nullptr) throw Error("the settings of a published model cannot be changed: choose an example for that");
    if (set.config == document().config) return;
    Document next = untrained(document());
    next.config = set.config;
    change(std::move(next), merge);
}

void Session::Impl::carry_out(const command::SetForward& set, const std::string& merge) {
    Document next = document();
    next.forward.edits = set.forward.edits;
    if (next.forward != set.forward) expect_model();  // of a recording, too, it is computed what follows from changed numbers
    next.forward = set.forward;
    change(std::move(next), merge);
}

namespace {

/// Whether a text of an example or a model is the user's own, rather than one that it comes with or a copy of one.
bool has_typed_texts(const Document& document) {
    std::vector<PresetSentence> own;
    if (document.model != nullptr) {
        const Document opened = document_of_model(document.model);
        PresetSentence& texts = own.emplace_back();
        texts.texts = opened.texts;
        texts.source_texts = opened.source_texts;
    } else if (const Preset* preset = document.trained ? nullptr : preset_of(document)) {
        own = preset->sentences;
    }
    const auto is_typed = [&](const std::string& text, std::vector<std::string> PresetSentence::*texts) {
        return std::none_of(own.begin(), own.end(), [&](const PresetSentence& sentence) {
            return std::find((sentence.*texts).begin(), (sentence.*texts).end(), text) != (sentence.*texts).end();
        });
    };
    const auto is_typed_text = [&](const std::string& text) { return is_typed(text, &PresetSentence::texts); };
    const auto is_typed_source = [&](const std::string& text) { return is_typed(text, &PresetSentence::source_texts); };
    return !own.empty() && (std::any_of(document.texts.begin(), document.texts.end(), is_typed_text) ||
                            std::any_of(document.source_texts.begin(), document.source_texts.end(), is_typed_source));
}

/// The new example with the text that the user typed into the previous one, if its model can read it.
std::optional<Document> with_typed_sentence(Document next, const Document& before, double room_mib) {
    if (before.model != nullptr || before.preset == next.preset || !has_typed_texts(before)) return {};
    if (!before.source_texts.empty() || !next.source_texts.empty()) return {};
    next.texts = before.texts;
    return can_prepare(next, room_mib) ? std::optional(std::move(next)) : std::nullopt;
}

/// The new published model with the texts of another document, if it can read them.
Document with_text_of(Document next, const Document& before, double room_mib) {
    if (before.source_texts.empty() != next.source_texts.empty()) return next;
    Document kept = next;
    kept.texts = before.texts;
    kept.source_texts = before.source_texts;
    return can_prepare(kept, room_mib) ? kept : next;
}

}  // namespace

// Training settings and pinned states are kept, and an example that was just opened counts as saved.
void Session::Impl::carry_out(const command::OpenPreset& open, const std::string& merge) {
    Document next = open_preset(open.name, open.sentence);
    next.run = document().run;
    next.sampling = document().sampling;
    next.pins = pins_that_stay();
    if (std::optional<Document> kept = with_typed_sentence(next, document(), scheduler.budget_mib())) {
        next = std::move(*kept);
        files.tell("Your sentence is kept. Choose the example again to get its own.", false);
    }
    change(std::move(next), merge);
    begin_subject({}, history.current());
}

void Session::Impl::carry_out(const command::OpenDocument& open, const std::string& merge) {
    expect_short_texts(open.document);
    Document next = ready_to_open(open.document);
    if (open.is_model) {
        // Keep the pinned states, so that one model can be compared at two precisions.
        if (has_typed_texts(document())) next = with_text_of(std::move(next), document(), scheduler.budget_mib());
        next.pins = pins_that_stay();
    }
    // What another recording is compared with stays, too; a saved document has pins of its own.
    if (next.recorded && open.file && open.file->empty()) next.pins = pins_that_stay();
    replace(std::move(next), merge);
    if (open.file) begin_subject(*open.file, history.current());
}

void Session::Impl::carry_out(const command::ShowBeside& beside, const std::string& merge) {
    if (shown->state == nullptr) throw Error("there is nothing to compare with yet");
    Document next = ready_to_open(document_of_model(beside.model));
    if (document().model != nullptr || has_typed_texts(document()))
        next = with_text_of(std::move(next), document(), scheduler.budget_mib());
    next.forward = document().forward;
    // What was written belongs to the text that is shown, as long as its ids mean the same tokens.
    if (same_ids(document(), next)) {
        next.written = document().written;
        next.writing = document().writing;
    }
    next.pins = document().pins;
    next.pins.a = *shown->state;
    next.pins.a_reads_along = true;
    replace(std::move(next), merge);
}

void Session::Impl::carry_out(const command::SetRun& set, const std::string& merge) {
    Document next = document();
    next.run = set.run;
    change(std::move(next), merge);
}

void Session::Impl::carry_out(const command::SetTrainingText& set, const std::string& merge) {
    Document next = document();
    TaskSettings& task = next.run.task;
    task.text = set.text;
    task.text_name = set.name;
    task.kind = TaskKind::Text;
    change(std::move(next), merge);
}

void Session::Impl::carry_out(const command::ShowMoment& show, const std::string& merge) {
    if (run().run == 0) throw Error("there is no training run yet");
    std::optional<std::int64_t> step;
    if (show.step) {
        require_step(run().step, *show.step);
        step = take_moment_near(run().run, *show.step).step;
    }
    change(document_of_run(document(), run(), step, probe), merge);
}

void Session::Impl::carry_out(const command::ShowRecorded& show, const std::string& merge) {
    if (!document().recorded) throw Error("there is no recording");
    replace(moved_to(document().recorded->recording, show.step, show.group, document()), merge);
}

void Session::Impl::carry_out(const command::ShowUntrained&, const std::string& merge) {
    expect_model();
    change(untrained(document()), merge);
}

void Session::Impl::carry_out(const command::Undo&, const std::string&) { travel(Way::Undo); }
void Session::Impl::carry_out(const command::Redo&, const std::string&) { travel(Way::Redo); }
void Session::Impl::carry_out(const command::GoBackToLeft&, const std::string&) { travel(Way::ToLeft); }

void Session::Impl::carry_out(const command::BeginVisit&, const std::string&) { history.begin_visit(); }

void Session::Impl::carry_out(const command::EndVisit&, const std::string&) {
    travelling.reset();
    history.end_visit();
    files.look_at(history.subject());
    files.forget_subjects_except(history.subjects());
}

void Session::Impl::begin_subject(const std::filesystem::path& file, std::shared_ptr<const Document> clean) {
    const std::filesystem::path before = files.state().document;
    const std::size_t subject = history.subject();
    history.begin_subject();
    files.look_at(history.subject());
    files.set_document(file, std::move(clean));
    files.forget_subjects_except(history.subjects());
    if (files.left_subject() == subject)
        files.tell(fmt::format("{} has changes that are not saved: undo goes back to it.", escaped(before.filename().native(), 0)), false);
}

void Session::Impl::change(Document next, const std::string& merge) {
    keep_written(next, document());
    replace(std::move(next), merge);
}

void Session::Impl::replace(Document next, const std::string& merge) {
    if (next.texts.empty()) next.texts.emplace_back();
    const std::shared_ptr<const Document> before = history.current();
    if (!history.change(std::move(next), merge)) return;
    travelling.reset();
    changed(*before);
}

// Undoing may lead to an earlier run, which is then made current again; not while another run is training.
std::string Session::Impl::what_is_gone(const Document& document) {
    if (!document.trained || is_missing(document.trained->run)) return "";
    const std::uint64_t number = document.trained->run;
    const std::optional<std::int64_t>& step = document.trained->step;
    if (number != run().run && (run().phase == TrainingPhase::Running || !is_kept(number)))
        return "the model of a training run that no longer exists";
    if (step && take_moment(number, *step).parameters == nullptr)
        return fmt::format("the model of step {} of a training run, which is no longer kept", *step);
    return "";
}

void Session::Impl::travel(Way way) {
    if (travelling) travelling->next.push_back(way);
    else go_on({way});
}

std::shared_ptr<const Document> Session::Impl::destination(Way way, const DocumentHistory::Usable& usable) const {
    if (way == Way::Undo) return history.next_undone(usable);
    if (way == Way::Redo) return history.next_redone(usable);
    const std::optional<std::size_t> left = files.left_subject();
    return left ? history.next_of(*left, usable) : nullptr;
}

std::size_t Session::Impl::go(Way way, const DocumentHistory::Usable& usable, const std::vector<ModelRef>& opened) {
    if (way == Way::Undo) return history.undo(usable, opened);
    if (way == Way::Redo) return history.redo(usable, opened);
    const std::optional<std::size_t> left = files.left_subject();
    return left && history.go_to(*left, usable, opened) ? 1 : 0;
}

void Session::Impl::go_on(Travel travel) {
    const std::vector<ReopenedModels::Lost>& lost = travel.models.lost;
    const auto is_lost = [&](const ModelRef& model) {
        return std::any_of(lost.begin(), lost.end(), [&](const auto& one) { return one.model == model; });
    };
    std::string gone;
    const DocumentHistory::Usable usable = [&](const Document& d) {
        const std::vector<ModelRef> models = models_of(d);
        const std::string what = what_is_gone(d);
        if (!what.empty()) gone = what;
        return what.empty() && std::none_of(models.begin(), models.end(), is_lost);
    };
    if (const std::shared_ptr<const Document> there = destination(travel.way, usable)) {
        std::vector<ModelRef> kept = models_of(document()), closed;
        kept.insert(kept.end(), travel.models.opened.begin(), travel.models.opened.end());
        for (const ModelRef& model : models_of(*there)) {
            if (std::find(kept.begin(), kept.end(), model) != kept.end()) continue;
            ModelRef open = model.held_if_open();
            (open.held() ? travel.models.opened : closed).push_back(std::move(open));
        }
        if (!closed.empty()) {
            travelling = std::move(travel);
            return files.reopen(std::move(closed));
        }
    }
    const std::shared_ptr<const Document> before = history.current();
    const bool back = travel.way == Way::Undo, possible = back ? history.can_undo() : history.can_redo();
    const std::string_view part = back ? history.undone_part() : history.redone_part();
    const std::size_t steps = go(travel.way, usable, travel.models.opened);
    // The pins may be out of sight, and what is shown stays.
    if (travel.way != Way::ToLeft && steps == 1 && before->pins != document().pins &&
        static_cast<const Setup&>(*before) == static_cast<const Setup&>(document()))
        files.tell(fmt::format("{}: {}.", back ? "Undone" : "Redone", part), false);
    if (!lost.empty()) tell_lost(lost, steps > 0);
    else if (travel.way != Way::ToLeft && !possible) message = back ? "there is nothing to undo" : "there is nothing to redo";
    else if (travel.way != Way::ToLeft && steps == 0) message = "that was " + gone;
    else if (steps > 1) message = "skipped " + gone;
    if (steps > 0) changed(*before);
}

void Session::Impl::take_reopened(ReopenedModels models) {
    if (!travelling) return;
    Travel travel = *std::exchange(travelling, {});
    const std::vector<Way> next = std::exchange(travel.next, {});
    const auto add = [](auto& all, auto& more) { std::move(more.begin(), more.end(), std::back_inserter(all)); };
    add(travel.models.opened, models.opened);
    add(travel.models.lost, models.lost);
    go_on(std::move(travel));
    for (const Way way : next) this->travel(way);
}

void Session::Impl::tell_lost(const std::vector<ReopenedModels::Lost>& lost, bool skipped) {
    const ReopenedModels::Lost& first = lost.front();
    const std::string name = escaped(first.model.identity()->name, 0);
    files.tell(skipped ? fmt::format("Skipped {}, because {}.", name, first.why)
                       : fmt::format("{} cannot be shown again: {}.", name, first.why),
               true);
}

void Session::Impl::changed(const Document& before) {
    files.end_notices(NoticeOf::Document);
    files.look_at(history.subject());
    files.forget_subjects_except(history.subjects());
    const bool other_setup = static_cast<const Setup&>(document()) != static_cast<const Setup&>(before);
    const bool other_source = document().trained != before.trained || document().recorded != before.recorded;
    // Text in progress continues from the old document, and the last generation's problem may no longer apply.
    if (!writing.taking) writing.problem.clear();
    if (!writing.taking && (other_setup || document().writing != before.writing || other_source)) stop_writing();
    if (document().run != before.run) trainer.send(command::SetRun{document().run});
    if (document().trained && document().trained->run != run().run && is_kept(document().trained->run))
        trainer.send(command::ChooseRun{document().trained->run});
    if (other_source || other_setup) show();
    if (document().pins != before.pins) derive_states();
}

}  // namespace attn::app
