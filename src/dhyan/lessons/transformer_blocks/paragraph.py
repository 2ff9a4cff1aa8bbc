"""A paragraph on the electrical transformer and two readers' words for it, in two languages."""

ENGLISH = (
    "A transformer passes electric power from one winding to another, and no wire joins the two. "
    "Alternating current in the first winding magnetises an iron core back and forth, and the "
    "changing field makes a voltage in the second winding. "
    "The turns of each winding decide the voltage: half the turns give half of it. "
    "A power station raises the voltage, so that long lines carry less current and have less loss. "
    "In our street another transformer lowers it, so that the supply of a home is safe to use. "
    "Thin iron sheets in the core and thick copper in each winding keep the loss small, so the "
    "efficiency of a large one is about 99 per cent. "
    "The charger of a phone holds a tiny one, and makes a few safe volts from the supply of any "
    "home. "
    "Direct current makes no changing field, so with a battery alone a transformer gives nothing."
)
ENGLISH_READERS = {
    "engineer": "core winding loss efficiency",
    "household": "home safe voltage supply",
}
HINDI = (
    "ट्रांसफ़ॉर्मर एक कुंडली से दूसरी कुंडली तक बिजली पहुँचाता है, और दोनों के बीच कोई तार नहीं होता। "
    "पहली कुंडली की प्रत्यावर्ती धारा लोहे के क्रोड को बारी-बारी से दोनों दिशाओं में चुंबकित करती है, और बदलता "
    "क्षेत्र दूसरी कुंडली में वोल्टेज पैदा करता है। "
    "वोल्टेज हर कुंडली के फेरों से तय होता है: फेरे आधे हों तो वह भी आधा। "
    "बिजलीघर वोल्टेज बढ़ा देता है, ताकि लंबी लाइनों में धारा कम रहे और हानि भी कम हो। "
    "हमारी गली में दूसरा ट्रांसफ़ॉर्मर उसे घटा देता है, ताकि घर की आपूर्ति सुरक्षित रहे। "
    "क्रोड में लोहे की पतली पत्तियाँ और हर कुंडली में मोटा ताँबा हानि को कम रखते हैं, इसलिए बड़े ट्रांसफ़ॉर्मर की "
    "दक्षता लगभग 99 प्रतिशत होती है। "
    "फ़ोन के चार्जर में एक बहुत छोटा ट्रांसफ़ॉर्मर होता है, जो घर की आपूर्ति से कुछ ही सुरक्षित वोल्ट बनाता है। "
    "दिष्ट धारा से क्षेत्र नहीं बदलता, इसलिए केवल बैटरी लगाने पर ट्रांसफ़ॉर्मर कुछ नहीं देता।"
)
HINDI_READERS = {"इंजीनियर": "क्रोड कुंडली हानि दक्षता", "परिवार": "घर सुरक्षित वोल्टेज आपूर्ति"}
