import Campanile

struct PriceWanted: MessageCenter.Message {
  let item: String
  let answer = Broadcaster<String>()
}

func price(of item: String, within limit: Duration) async -> String? {
  let question = PriceWanted(item: item)
  let answers = question.answer.values()
  let deadline = Task {
    try await Task.sleep(for: limit)
    question.answer.finish()
  }
  MessageCenter.default.post(question)
  defer { deadline.cancel() }
  for await price in answers { return price }
  return nil
}

@main struct Asking {
  static func main() async {
    let shop = MessageCenter.default.observe(PriceWanted.self, on: .queue(.main)) { question in
      if question.item == "bell" { question.answer.send("300 crowns") }
    }
    print(await price(of: "bell", within: .seconds(1)) ?? "no bell")
    print(await price(of: "rope", within: .seconds(1)) ?? "no rope")
    withExtendedLifetime(shop) {}
  }
}
