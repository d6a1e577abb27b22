// SPDX-License-Identifier: MIT
// Ranks documents for queries by a cross-encoder or a sentence encoder, and measures rankings against labels.
#include <iomanip>
#include <lexformer/io/json.hpp>
#include <lexformer/models/rank.hpp>
#include <lexformer/train/ranking_metrics.hpp>

#include "cli/texts.hpp"
#include "cli/trained_model.hpp"
#include "match/candidates.hpp"

namespace lx = lexformer;

namespace {

using Rankings = std::vector<std::vector<lx::RankedDocument>>;

/// The relevance of documents for queries by their places.
using Labels = std::vector<std::unordered_map<std::size_t, double>>;

/// Reads rows of a query's id, a document's id and a relevance of 0 or more.
Labels read_labels(const std::string& file, const std::vector<std::string>& columns, const program::Texts& queries,
                   const program::Texts& documents) {
  lx::TableOptions table;
  table.columns = columns;
  const auto rows = lx::read_pairs(file, table);
  const auto relevance = lx::number_labels(rows);
  Labels labels(queries.texts.size());
  for (std::size_t i = 0; i < relevance.size(); ++i) {
    const std::string where = lx::cat(file, ": line ", rows.rows[i].line);
    if (relevance[i] < 0) lx::fail_file(where, "the relevance is ", relevance[i], ", expected 0 or more");
    labels[queries.place(rows.rows[i].left, where)][documents.place(rows.rows[i].right, where)] = relevance[i];
  }
  return labels;
}

lx::RankingReport measure(const Rankings& found, const Labels& labels, std::size_t top) {
  std::vector<lx::RankedQuery> queries;
  for (std::size_t q = 0; q < found.size(); ++q) {
    auto& query = queries.emplace_back();
    for (const auto& d : found[q]) {
      const auto label = labels[q].find(d.index);
      query.ranked.push_back(label == labels[q].end() ? 0 : label->second);
    }
    for (const auto& [document, relevance] : labels[q]) query.relevant.push_back(relevance);
  }
  return lx::ranking_report(queries, top);
}

/// As JSON. Invalid UTF-8, which the lines of a .txt may hold, becomes U+FFFD, as in the tokenizer.
std::string quoted(const std::string& text) { return lx::Json(text).dump(-1, ' ', false, lx::Json::error_handler_t::replace); }

void write(std::ostream& out, lx::TableFormat format, const Rankings& found, const program::Texts& queries,
           const program::Texts& documents) {
  if (format == lx::TableFormat::csv) out << "query_id,rank,document_id,score,document\n";
  out << std::setprecision(9);
  for (std::size_t q = 0; q < found.size(); ++q)
    for (std::size_t i = 0; i < found[q].size(); ++i) {
      const auto& [index, score] = found[q][i];
      const auto &query = queries.ids[q], &id = documents.ids[index], &text = documents.texts[index];
      if (format == lx::TableFormat::csv)
        out << program::csv_field(query) << ',' << i + 1 << ',' << program::csv_field(id) << ',' << score << ',' << program::csv_field(text)
            << '\n';
      else
        out << "{\"query_id\":" << quoted(query) << ",\"rank\":" << i + 1 << ",\"document_id\":" << quoted(id) << ",\"score\":" << score
            << ",\"document\":" << quoted(text) << "}\n";
    }
}

int run_rank(int argc, char** argv) {
  CLI::App app(
      "Ranks documents for one query or many: by the score of each pair with a cross-encoder, by the cosine of their vectors with a "
      "sentence "
      "encoder (a model of train_encoder, or a folder of sentence-transformers).",
      "rank");
  std::string model_path, query, queries_path, documents_path, query_id, document_id, query_column, document_column, labels_path, out;
  std::vector<std::string> label_columns;
  std::size_t top = 10, batch = 32;
  app.add_option("--model", model_path, "a .lxf file or a folder")->required()->type_name("M.lxf");
  app.add_option("--query", query, "the text of one query")->type_name("TEXT");
  app.add_option("--queries", queries_path, "queries: .txt with one in each line, or .csv, .tsv, .jsonl")->type_name("F");
  app.add_option("--documents", documents_path, "documents, in the same forms")->required()->type_name("F");
  app.add_option("--query-column", query_column, "column of the queries' texts (default: text, else the first)")->type_name("COLUMN");
  app.add_option("--query-id", query_id, "column of the queries' ids (default: their numbers from 1)")->type_name("COLUMN");
  app.add_option("--column", document_column, "column of the documents' texts (default: text, else the first)")->type_name("COLUMN");
  app.add_option("--id", document_id, "column of the documents' ids (default: their numbers from 1)")->type_name("COLUMN");
  app.add_option("--top", top, "documents of each query")->check(program::positive())->capture_default_str();
  app.add_option("--labels", labels_path,
                 "rows of a query's id, a document's id and a relevance of 0 or more: print MRR, NDCG and recall within --top")
      ->type_name("F");
  app.add_option("--label-columns", label_columns, "their columns in --labels (default: left, right, label, else the first three)")
      ->delimiter(',');
  app.add_option("--out", out, "write the ranking to a .csv or .jsonl file (default: .csv to standard output, unless --labels is given)")
      ->type_name("F.csv");
  app.add_option("--batch", batch, "pairs or texts per batch")->check(program::positive())->capture_default_str();
  program::ModelFlags flags;
  flags.add_to(app);
  program::Compute compute;
  program::add_compute(app, compute, true);
  program::add_threads(app);
  return program::run(app, argc, argv, [&] {
    if (query.empty() == queries_path.empty()) lx::fail_usage("command line", "give either --query or --queries");
    program::keep_inputs("--out", out, {model_path, queries_path, documents_path, labels_path});
    const auto format = out.empty() ? lx::TableFormat::csv : program::output_format(out);
    program::check_folder(out);
    const auto documents = program::read_texts(documents_path, document_column, document_id);
    const auto queries = queries_path.empty() ? program::Texts{"--query", {"1"}, {query}, {{"1", 0}}}
                                              : program::read_texts(queries_path, query_column, query_id);
    std::optional<Labels> labels;  // read first, so that a bad file is reported early
    if (!labels_path.empty()) labels = read_labels(labels_path, label_columns, queries, documents);

    const Rankings found = program::compute_with(compute, [&](auto number, auto device) {
      using T = decltype(number);
      using Dev = decltype(device);
      Rankings lists;
      auto file = lx::ModelFile::open(model_path);
      if (lx::is_sentence_encoder(file)) {
        flags.refuse_vectors(model_path);
        lx::SentenceEncoder<T, Dev> model(file);
        flags.love.apply(model);
        compute.apply(model);
        model.provide(flags.knowledge.load(nullptr));
        const auto vectors = model.encode(documents.texts, batch);
        lx::require_finite(vectors, documents_path, "text", 1);
        return lx::nearest_documents(model.encode(queries.texts, batch), vectors, top);
      }
      program::with_trained_model<T, Dev>(std::move(file), flags, compute, nullptr, [&](const auto& model) {
        if constexpr (requires { lx::rank(model, query, documents.texts, top, batch); })
          for (const auto& text : queries.texts) lists.push_back(lx::rank(model, text, documents.texts, top, batch));
        else
          lx::fail_usage("--model", model_path,
                         " reads single texts and gives no vectors; rank needs a cross-encoder or a sentence encoder");
        return 0;
      });
      return lists;
    });

    if (!out.empty() || !labels) {
      program::StringWriter text;
      write(text, format, found, queries, documents);
      if (out.empty())
        std::cout << text.str();
      else
        lx::write_file_atomic(out, text.str());
    }
    if (labels) {
      const auto report = measure(found, *labels, top);
      std::cout << report.queries << " queries with relevant documents";
      if (report.skipped > 0) std::cout << " (" << report.skipped << " have none)";
      std::cout << std::fixed << std::setprecision(2) << ": MRR@" << top << " " << 100 * report.mrr << " %, NDCG@" << top << " "
                << 100 * report.ndcg << " %, recall@" << top << " " << 100 * report.recall << " %\n";
    }
    return 0;
  });
}

const program::Command command{"rank", program::Group::use, "ranks documents for queries", run_rank};

}  // namespace
