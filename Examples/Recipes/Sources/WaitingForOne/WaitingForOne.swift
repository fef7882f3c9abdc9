import Campanile

struct Failed: MessageCenter.Message { var file: String }

func first<M>(of values: ValueSequence<M>, within limit: Duration) async -> M? {
  await withTaskGroup(of: M?.self) { group in
    group.addTask { await values.first { _ in true } }
    group.addTask {
      try? await Task.sleep(for: limit)
      return nil
    }
    defer { group.cancelAll() }
    return await group.next() ?? nil
  }
}

@main struct WaitingForOne {
  static func main() async {
    let center = MessageCenter()
    let failures = center.messages(of: Failed.self).values(.once)
    center.post(Failed(file: "a.wav"))
    print(await first(of: failures, within: .seconds(10))?.file ?? "none in time")
    let more = center.messages(of: Failed.self).values(.once)
    print(await first(of: more, within: .milliseconds(50))?.file ?? "none in time")
  }
}
