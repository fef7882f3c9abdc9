import Campanile
import Dispatch

struct Progressed: MessageCenter.Message {
  var file: String
  var percent: Int
}

@main struct LastOfEach {
  static func main() async {
    let center = MessageCenter()
    let percents = CurrentValue<[String: Int]>([:])
    center.observe(Progressed.self, owner: percents) { percents, message in
      percents.update { $0[message.file] = message.percent }
    }
    let newest = percents.values(buffering: .newest(1))
    DispatchQueue.concurrentPerform(iterations: 4) { number in
      for percent in 1...100 { center.post(Progressed(file: "file \(number)", percent: percent)) }
    }
    percents.finish()
    for await percents in newest {
      for (file, percent) in percents.sorted(by: <) { print("\(file): \(percent) %") }
    }
  }
}
