/// Text generation: its commands, and how generated tokens get into the document.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/session/document/prepare.hpp"
#include "app/session/session_impl.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

/// One sequence of a batch, without padding.
std::vector<std::int32_t> sequence_of(const TokenBatch& batch, std::int64_t sequence) {
    const auto first = batch.ids.begin() + sequence * batch.length;
    return {first, first + batch.lengths.at(static_cast<std::size_t>(sequence))};
}

std::string full_context(const Config& config) {
    return fmt::format("the text fills the model's context of {} tokens", config.longest_text());
}

/// Continues the text of a trace; an encoder-decoder answers its source.
WritingJob job_of(const Trace<float>& trace, const Setup& setup, std::int64_t sequence, const SamplingSettings& sampling,
                  std::size_t written) {
    const Config& config = trace.config;
    if (config.architecture == Architecture::Encoder || !config.lm_head || !trace.settings.masks.causal)
        throw Error("only a causal model with an output head can write on");
    WritingJob job;
    job.parameters = trace.parameters;
    job.model = setup.model;
    job.text = sequence_of(trace.tokens, sequence);
    if (job.text.empty()) throw Error("there is no text to continue");
    if (config.architecture == Architecture::EncoderDecoder) {
        job.source = sequence_of(trace.source_tokens, sequence);
        if (job.source.empty()) throw Error("there is no source to answer");
    }
    job.ends = conventions_of(setup).ends_after(job.source);
    job.forward = trace.settings;
    job.forward.edits = edits_of_text(trace.settings.edits, sequence);
    job.sampling = sampling;
    job.drawn = written;
    const std::int64_t room = config.longest_text() - static_cast<std::int64_t>(job.text.size());
    if (room <= 0) throw Error(full_context(config));
    job.sampling.tokens = std::min(sampling.tokens, room);
    return job;
}

}  // namespace

Document Session::Impl::ready_to_write(std::int64_t sequence) const {
    Document next = document();
    const auto last = static_cast<std::int64_t>(next.texts.size()) - 1;
    sequence = std::clamp<std::int64_t>(sequence, 0, last);
    if (next.writing.sequence == sequence) return next;
    next.texts = whole_texts(next);
    next.written = {};
    next.writing = {.sequence = sequence, .tokens = {}};
    return next;
}

void Session::Impl::carry_out(const command::WriteOn& write, const std::string& merge) {
    expect_model();
    stop_writing();
    writing.problem.clear();
    writing.step = merge.empty() ? fmt::format("writing {}", ++writing.number) : merge;
    change(ready_to_write(write.sequence), writing.step);
    writing.wanted = write;
    begin_writing();
}

void Session::Impl::carry_out(const command::StopWriting&, const std::string&) {
    take_written();
    if (writing.tip) {
        Document next = document();
        show_written(next, *writing.tip);
        change_by_writing(std::move(next));
    }
    stop_writing();
}

void Session::Impl::carry_out(const command::WriteToken& write, const std::string& merge) {
    expect_model();
    stop_writing();
    Document next = ready_to_write(write.sequence);
    const std::int64_t place = put_token(next.writing, {write.id, next.writing.shown, write.predicted, write.chance});
    show_written(next, place);
    prepare(next, scheduler.budget_mib(), &tokenizer);  // throws if it does not fit into the context
    change(std::move(next), merge);
}

void Session::Impl::carry_out(const command::ShowWritten& show, const std::string& merge) {
    Document next = document();
    show_written(next, show.token);
    change(std::move(next), merge);
}

void Session::Impl::carry_out(const command::ForgetWritten& forget, const std::string& merge) {
    Document next = document();
    if (forget.token < kPrompt || forget.token >= static_cast<std::int64_t>(next.writing.tokens.size()))
        throw Error(fmt::format("no token {} has been written", forget.token));
    next.writing = without_branch(next.writing, forget.token);
    show_written(next, next.writing.shown);
    change(std::move(next), merge);
}

// A generation in progress continues with the new settings.
void Session::Impl::carry_out(const command::SetSampling& set, const std::string& merge) {
    require_sampling(set.sampling);
    Document next = document();
    next.sampling = set.sampling;
    change(std::move(next), merge);
    if (!writer.is_busy()) return;
    take_written();
    if (!writer.is_busy()) return;
    const std::int64_t left = writing.job.sampling.tokens;
    writing.job.sampling = set.sampling;
    writing.job.sampling.tokens = left;
    writer.start(writing.job);
}

void Session::Impl::begin_writing() {
    if (!writing.wanted || is_tracing()) return;
    refresh();
    const command::WriteOn order = *std::exchange(writing.wanted, {});
    try {
        if (shown->state != asked || shown->trace == nullptr || !shown->problem.empty()) throw Error(shown->problem);
        SamplingSettings sampling = document().sampling;
        sampling.tokens = order.tokens.value_or(sampling.tokens);
        const Writing& tree = document().writing;
        writing.job = job_of(*shown->trace, document(), tree.sequence, sampling, depth_of(tree, tree.shown));
        writing.tip = tree.shown;
        writer.start(writing.job);
    } catch (const Error& error) {
        writing.problem = error.what();
    }
}

void Session::Impl::take_written() {
    if (!writing.tip) return;
    const WrittenNews news = writer.take();
    if (news.tokens.empty() && !news.ended && (document().writing.shown == *writing.tip || is_tracing())) return;
    Document next = document();
    std::int64_t tip = *writing.tip;
    std::string problem = news.problem;
    try {
        for (WrittenToken token : news.tokens) {
            token.after = tip;
            tip = put_token(next.writing, token);
            writing.job.text.push_back(token.id);
            ++writing.job.drawn;
            --writing.job.sampling.tokens;
        }
    } catch (const Error& error) {
        problem = error.what();
    }
    if (!leads_through(next.writing, next.writing.end, tip)) next.writing.end = first_end_after(next.writing, tip);
    const bool ended = news.ended || !problem.empty();
    // The shown text follows as fast as it can be computed.
    if (ended || !is_tracing()) show_written(next, tip);
    writing.tip = tip;
    change_by_writing(std::move(next));
    if (!ended) return;
    const Config& config = writing.job.parameters->config();
    if (problem.empty() && static_cast<std::int64_t>(writing.job.text.size()) >= config.longest_text()) problem = full_context(config);
    writing.problem = problem;
    stop_writing();
}

// All tokens of a job form one undo step.
void Session::Impl::change_by_writing(Document next) {
    struct Taking {
        explicit Taking(bool& now) : flag(now) { flag = true; }
        ~Taking() { flag = false; }
        bool& flag;
    };
    const Taking taking(writing.taking);
    change(std::move(next), writing.step);
}

void Session::Impl::stop_writing() {
    writing.wanted.reset();
    writing.tip.reset();
    writer.stop();
}

}  // namespace attn::app
