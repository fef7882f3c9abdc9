import Campanile

struct PhotoTaken: MessageCenter.Message { var number: Int }

func upload(_ photo: PhotoTaken) async {
  try? await Task.sleep(for: .milliseconds(10))
}

@main struct WorkQueue {
  static func main() async {
    let center = MessageCenter()
    let uploaded = CurrentValue(0)
    let photos = center.messages(of: PhotoTaken.self).values()
    for number in 1...20 { center.post(PhotoTaken(number: number)) }
    center.finish()
    await withTaskGroup(of: Void.self) { group in
      var running = 0
      for await photo in photos {
        if running == 4 { await group.next() } else { running += 1 }
        group.addTask {
          await upload(photo)
          uploaded.update { $0 += 1 }
        }
      }
    }
    print("uploaded \(uploaded.value) photos, at most four at a time")
  }
}
