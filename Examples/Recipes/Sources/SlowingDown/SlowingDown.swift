import Campanile

struct RowRead: MessageCenter.Message { var number: Int }

func readRows(_ count: Int, _ center: MessageCenter) async throws {
  for number in 1...count {
    if number.isMultiple(of: 16) {
      try await center.postAndWait(RowRead(number: number))
    } else {
      center.post(RowRead(number: number))
    }
  }
}

@main struct SlowingDown {
  static func main() async throws {
    let center = MessageCenter()
    let written = CurrentValue(0)
    let disk = center.messages(of: RowRead.self).observeAsync { row in
      try await Task.sleep(for: .milliseconds(5))  // the disk is slow
      written.value = row.number
    }
    try await readRows(160, center)
    print("read 160 rows, and wrote \(written.value)")
    withExtendedLifetime(disk) {}
  }
}
